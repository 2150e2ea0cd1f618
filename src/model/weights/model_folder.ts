import { isDeepStrictEqual } from "../../platform/system/deep_equal.ts";
import type { Gpu } from "../../gpu/gpu.ts";
import { UserError } from "../../base/user_error.ts";
import { initialiseAdapter } from "../decoder/initialise.ts";
import { parameterBlocks } from "../decoder/layout.ts";
import { checkWeights, loadWeights } from "./load_weights.ts";
import { type LoraConfig, targetsIn } from "../decoder/lora.ts";
import { checkedAdapterWeights } from "./adapter_folder.ts";
import { Model } from "../decoder/model.ts";
import { type ModelSource, openModelSource } from "./model_source.ts";
import type { ParameterOptions, TrainedStorage } from "../decoder/parameters.ts";
import { stopTokensOf } from "../tokenizer/stop_tokens.ts";
import { type FrozenStorage, frozenStorageOf } from "./weight_storage.ts";
import type { Tokenizer } from "../tokenizer/tokenizer.ts";

/** A model with its tokenizer. */
export interface LoadedModel {
  readonly model: Model;
  readonly tokenizer: Tokenizer;
  /** Ids that end a response. */
  readonly stopTokens: readonly number[];
}

/** How a model is put onto the GPU. */
export interface LoadOptions {
  /** Whether it is to be trained: memory for gradients and moments is taken too. */
  readonly trained: boolean;
  /**
   * Whether there is memory for gradients, by default where it is trained. Without it a trained model is laid out as
   * in training, for the weights of a checkpoint, and only asked.
   */
  readonly gradients?: boolean;
  /** Trains a new adapter instead of the weights. */
  readonly lora?: LoraConfig | null;
  /** Seed of a new adapter's random weights. */
  readonly seed?: number;
  /** Frozen weights that several models share. */
  readonly bases?: FrozenBases;
  /** How matrices that are not trained are stored; by default as `bases` has them, or `auto`. */
  readonly storage?: FrozenStorage;
  /** How matrices are stored whose own weights are trained; f32 by default. */
  readonly trainedStorage?: TrainedStorage;
}

/** Frozen models by path, each loaded once, whichever models and adapters use it. */
export class FrozenBases {
  readonly #models = new Map<string, Model>();

  constructor(readonly storage: FrozenStorage = "auto") {}

  /** The base of a source, loaded at the first call; it stays the caller's to keep, not to release. */
  async get(gpu: Gpu, source: ModelSource, storage = this.storage): Promise<Model> {
    const stored = frozenStorageOf(
      gpu.tuning,
      storage,
      source.weights,
      parameterBlocks(source.config),
    );
    const key = `${typeof stored === "string" ? stored : storage} ${source.basePath}`;
    let model = this.#models.get(key);
    if (!model) {
      model = await loadWhole(gpu, source, { trained: false, storage: stored });
      this.#models.set(key, model);
    }
    return model;
  }

  /** Returns the GPU memory that no model uses any more. */
  release(): void {
    for (const model of this.#models.values()) model.release();
    this.#models.clear();
  }
}

/**
 * Reads a Hugging Face folder, a GGUF file or a PEFT adapter into a new model.
 *
 * @throws UserError naming the file and key when something is missing, unsupported or does not fit
 */
export async function loadModel(gpu: Gpu, path: string, options: LoadOptions): Promise<Model> {
  using source = await openModelSource(path);
  return await putOnGpu(gpu, path, source, options);
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
  return { model: await putOnGpu(gpu, path, source, options), tokenizer, stopTokens };
}

async function putOnGpu(
  gpu: Gpu,
  path: string,
  source: ModelSource,
  options: LoadOptions,
): Promise<Model> {
  const { trained, gradients = trained, lora: asked = null, seed = 0, bases, storage } = options;
  const { adapter, basePath } = source;
  const lora = asked && { ...asked, targets: targetsIn(source.config, asked.targets) };
  if (adapter && lora && !isDeepStrictEqual(adapter.config, lora)) {
    throw new UserError(
      `${path} holds an adapter of another shape (${
        JSON.stringify(adapter.config)
      }) than lora asks ` +
        `for; leave lora out to train that one, or name its base to begin a new one.`,
    );
  }
  const config = adapter?.config ?? lora;
  if (trained && config === null) {
    if ((storage ?? bases?.storage) === "quantised") {
      throw new UserError(
        `${path}: frozen_dtype is quantised, but these weights are to be trained, which takes them in float32 or 16 bits. ` +
          `Add lora to train an adapter on quantised weights, or leave frozen_dtype out.`,
      );
    }
    return await loadWhole(gpu, source, {
      trained: gradients,
      cutForTraining: true,
      storage: options.trainedStorage,
    });
  }
  const adapterWeights = adapter && !gpu.isRehearsal
    ? checkedAdapterWeights(source.config, adapter.config, adapter.weights)
    : null;
  const base = bases
    ? await bases.get(gpu, source, storage)
    : await loadFrozen(gpu, source, storage);
  let model: Model | null = null;
  try {
    model = base.adapted(config && { config, basePath, trained: gradients });
    const parameters = model.adapter?.parameters;
    if (gpu.isRehearsal) return model;
    if (parameters && adapterWeights) await loadWeights(gpu, parameters, adapterWeights);
    else if (parameters) initialiseAdapter(parameters, seed);
    return model;
  } catch (error) {
    model?.release();
    throw error;
  } finally {
    if (!bases) base.release();
  }
}

function loadFrozen(
  gpu: Gpu,
  source: ModelSource,
  storage: FrozenStorage = "auto",
): Promise<Model> {
  return loadWhole(gpu, source, {
    trained: false,
    storage: frozenStorageOf(gpu.tuning, storage, source.weights, parameterBlocks(source.config)),
  });
}

/** Loads a whole model; memory is taken only once the files are known to be sound. */
async function loadWhole(
  gpu: Gpu,
  { config, weights }: ModelSource,
  options: ParameterOptions,
): Promise<Model> {
  if (gpu.isRehearsal) return Model.create(gpu, config, options);
  checkWeights(weights, parameterBlocks(config), { tied: config.tiedEmbeddings });
  const model = Model.create(gpu, config, options);
  try {
    await loadWeights(gpu, model.parameters, weights);
    return model;
  } catch (error) {
    model.release();
    throw error;
  }
}
