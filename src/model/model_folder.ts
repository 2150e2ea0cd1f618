import type { Gpu } from "../gpu/gpu.ts";
import { modelConfigJson } from "./config.ts";
import { checkWeights, loadWeights } from "./load_weights.ts";
import { Model } from "./model.ts";
import { type ModelSource, openModelSource } from "./model_source.ts";
import { encodeSafetensors, type Tensor as FileTensor } from "./safetensors.ts";
import { stopTokensOf } from "./stop_tokens.ts";
import type { Tokenizer } from "./tokenizer.ts";

/** A model with its tokenizer. */
export interface LoadedModel {
  readonly model: Model;
  readonly tokenizer: Tokenizer;
  /** Ids that end a response. */
  readonly stopTokens: readonly number[];
}

/** How a model is put onto the GPU. */
export interface LoadOptions {
  /** Whether memory for gradients and moments is taken too. */
  readonly trained: boolean;
}

/**
 * Reads the weights of a Hugging Face folder or a GGUF file into a new model.
 *
 * @throws UserError naming the file and key when something is missing, unsupported or does not fit
 */
export async function loadModel(gpu: Gpu, path: string, options: LoadOptions): Promise<Model> {
  using source = await openModelSource(path);
  return await putOnGpu(gpu, source, options);
}

/**
 * Reads a whole model: weights, tokenizer and stop tokens.
 *
 * @throws UserError also when the tokenizer has tokens that the model does not know
 */
export async function loadModelFolder(
  gpu: Gpu,
  path: string,
  options: LoadOptions,
): Promise<LoadedModel> {
  using source = await openModelSource(path);
  const tokenizer = source.tokenizer();
  const stopTokens = stopTokensOf(tokenizer, source.stopTokens, path);
  return { model: await putOnGpu(gpu, source, options), tokenizer, stopTokens };
}

/** Nothing is allocated before the files are known to be sound. */
async function putOnGpu(gpu: Gpu, source: ModelSource, options: LoadOptions): Promise<Model> {
  checkWeights(source.weights, source.config);
  const model = new Model(gpu, source.config, options);
  try {
    await loadWeights(gpu, model.parameters, source.weights);
    return model;
  } catch (error) {
    model.release();
    throw error;
  }
}

/**
 * The files of a model folder that `transformers` opens.
 *
 * @returns contents by file name; the caller decides how they are written
 */
export async function modelFiles(
  { model, tokenizer, stopTokens }: LoadedModel,
): Promise<Record<string, string | Uint8Array<ArrayBuffer>[]>> {
  const shapes = model.parameters.shapes();
  const tensors: Record<string, FileTensor> = {};
  for (const [name, data] of Object.entries(await model.parameters.read())) {
    tensors[name] = {
      dtype: "F32",
      shape: shapes.get(name) ?? [],
      data: data as Float32Array<ArrayBuffer>,
    };
  }
  const json = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`;
  const tokens = {
    bos: tokenizer.specialToken("bos_token"),
    eos: tokenizer.specialToken("eos_token"),
    pad: tokenizer.specialToken("pad_token"),
  };
  return {
    "config.json": json(modelConfigJson(model.config, tokens)),
    ...(stopTokens.length > 1
      ? { "generation_config.json": json({ eos_token_id: stopTokens }) }
      : {}),
    "tokenizer.json": json(tokenizer.definition),
    "tokenizer_config.json": json(tokenizer.settings),
    "model.safetensors": encodeSafetensors(tensors, { format: "pt" }),
  };
}
