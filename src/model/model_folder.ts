import { join } from "node:path";
import type { Gpu } from "../gpu/gpu.ts";
import { UserError } from "../gpu/user_error.ts";
import { type ModelConfig, modelConfigJson, parseModelConfig } from "./config.ts";
import { parameterBlocks } from "./layout.ts";
import { Model } from "./model.ts";
import { encodeSafetensors, SafetensorsFile, type Tensor as FileTensor } from "./safetensors.ts";
import { Tokenizer } from "./tokenizer.ts";

/** A model as a folder holds it: weights, shape and tokenizer. */
export interface LoadedModel {
  readonly model: Model;
  readonly tokenizer: Tokenizer;
}

function readJson(path: string): Record<string, unknown> {
  let text: string;
  try {
    text = Deno.readTextFileSync(path);
  } catch (cause) {
    if (cause instanceof Deno.errors.NotFound) {
      throw new UserError(
        `${path} is missing; a model folder holds config.json, model.safetensors, ` +
          `tokenizer.json and tokenizer_config.json`,
      );
    }
    throw cause;
  }
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new UserError(`${path} is not JSON: ${cause instanceof Error ? cause.message : cause}`);
  }
}

/** Reads the tokenizer of a model folder. */
export function loadTokenizer(folder: string): Tokenizer {
  const file = join(folder, "tokenizer.json");
  return Tokenizer.fromJson(readJson(file), readJson(join(folder, "tokenizer_config.json")), file);
}

function checkShapes(weights: SafetensorsFile, config: ModelConfig): void {
  for (const { name, shape } of parameterBlocks(config).flatMap(({ parts }) => parts)) {
    if (!weights.has(name)) continue; // loading names what is missing
    const found = weights.entry(name).shape;
    if (found.length !== shape.length || found.some((size, axis) => size !== shape[axis])) {
      throw new UserError(
        `${weights.path}: tensor ${name} has shape [${found}]; config.json makes it [${shape}]`,
      );
    }
  }
}

/**
 * Reads weights (F32, F16 or BF16 safetensors, Hugging Face names) into a new model.
 *
 * @throws UserError naming the file and key when something is missing, unsupported or does not fit
 */
export function loadModel(gpu: Gpu, folder: string, options: { readonly trained: boolean }): Model {
  const configFile = join(folder, "config.json");
  const config = parseModelConfig(readJson(configFile), configFile);
  const file = join(folder, "model.safetensors");
  using weights = SafetensorsFile.open(file);
  checkShapes(weights, config);
  const named: Record<string, Float32Array> = {};
  for (const name of weights.names) named[name] = weights.readFloat32(name);
  const model = new Model(gpu, config, options);
  try {
    model.parameters.load(named, file);
    return model;
  } catch (error) {
    model.release();
    throw error;
  }
}

/**
 * Reads a whole model folder.
 *
 * @throws UserError also when the tokenizer has tokens that the model does not know
 */
export function loadModelFolder(
  gpu: Gpu,
  folder: string,
  options: { readonly trained: boolean },
): LoadedModel {
  const tokenizer = loadTokenizer(folder);
  const model = loadModel(gpu, folder, options);
  const { vocabularySize } = model.config;
  if (tokenizer.largestId >= vocabularySize) {
    model.release();
    throw new UserError(
      `${folder}/tokenizer.json: its largest token id is ${tokenizer.largestId}; vocab_size in ` +
        `config.json is ${vocabularySize}, so ids must be less. Do both files belong to one model?`,
    );
  }
  return { model, tokenizer };
}

/**
 * The files of a model folder that `transformers` opens.
 *
 * @returns contents by file name; the caller decides how they are written
 */
export async function modelFiles(
  { model, tokenizer }: LoadedModel,
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
    "tokenizer.json": json(tokenizer.definition),
    "tokenizer_config.json": json(tokenizer.settings),
    "model.safetensors": encodeSafetensors(tensors, { format: "pt" }),
  };
}
