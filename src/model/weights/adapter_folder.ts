import { join } from "../../platform/system/paths.ts";
import { fileMark } from "../../platform/files/file_mark.ts";
import { loraBlocks, type LoraConfig } from "../decoder/lora.ts";
import type { Model } from "../decoder/model.ts";
import { isReachable } from "./file_reading.ts";
import { readJson } from "./json_file.ts";
import { checkWeights, loadWeights } from "./load_weights.ts";
import { parsePeftConfig } from "./peft.ts";
import { openSafetensorsFile } from "./safetensors_weights.ts";
import type { WeightFile } from "./weight_file.ts";

const CONFIG = "adapter_config.json";
/** The weights of an adapter's folder. */
export const ADAPTER_WEIGHTS = "adapter_model.safetensors";

/** A PEFT adapter on disk, open. */
export interface AdapterFolder extends Disposable {
  /** Path of its adapter_config.json. */
  readonly file: string;
  readonly config: LoraConfig;
  /** Path of its base, as the adapter names it. */
  readonly basePath: string;
  readonly weights: WeightFile;
}

/** Whether a folder says that it is an adapter. */
export const isAdapterFolder = (path: string): boolean => isReachable(join(path, CONFIG));

/** Tells what a folder holds apart from what it held before or will; null when there is no whole adapter. */
export function adapterMark(path: string): string | null {
  const marks = [CONFIG, ADAPTER_WEIGHTS].map((name) => fileMark(join(path, name)));
  return marks.includes(null) ? null : marks.join(", ");
}

/** @throws UserError naming the file and key when something is missing or not supported */
export function openAdapterFolder(folder: string): AdapterFolder {
  const file = join(folder, CONFIG);
  const { lora: config, basePath } = parsePeftConfig(readJson(file), file);
  const weights = openSafetensorsFile(join(folder, ADAPTER_WEIGHTS));
  return { file, config, basePath, weights, [Symbol.dispose]: () => weights[Symbol.dispose]() };
}

/**
 * Reads a saved adapter's weights into those of a model on the GPU. When it fails, they hold a part of them.
 *
 * @throws UserError when it is one of another shape, or its file cannot be read
 */
export async function loadAdapterWeights(model: Model, { weights }: AdapterFolder): Promise<void> {
  const { gpu, config, adapter } = model;
  if (!adapter) throw new Error("the model has no adapter");
  checkWeights(weights, loraBlocks(config, adapter.config));
  await loadWeights(gpu, adapter.parameters, weights);
}
