import { join } from "../../platform/system/paths.ts";
import { fileMark } from "../../platform/files/file_mark.ts";
import { UserError } from "../../base/user_error.ts";
import type { ModelConfig } from "../decoder/config.ts";
import {
  inExperts,
  loraBlocks,
  type LoraConfig,
  loraModules,
  orderTargets,
} from "../decoder/lora.ts";
import type { Model } from "../decoder/model.ts";
import { isReachable } from "./file_reading.ts";
import { readJson } from "./json_file.ts";
import { checkWeights, loadWeights } from "./load_weights.ts";
import { parsePeftConfig } from "./peft.ts";
import { adapterWeights } from "./peft_experts.ts";
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
  const { lora, basePath } = parsePeftConfig(readJson(file), file);
  const weights = openSafetensorsFile(join(folder, ADAPTER_WEIGHTS));
  try {
    const config = withExperts(lora, weights);
    return { file, config, basePath, weights, [Symbol.dispose]: () => weights[Symbol.dispose]() };
  } catch (error) {
    weights[Symbol.dispose]();
    throw error;
  }
}

/** Whose projection a tensor of an adapter belongs to: of an expert by itself, of the one that all tokens share, or of none. */
type Owner = "expert" | "shared expert" | "layer";

const ownerOf = (name: string): Owner =>
  /\.experts\.\d+\./.test(name)
    ? "expert"
    : name.includes(".shared_expert.")
    ? "shared expert"
    : "layer";

/**
 * What an adapter changes whose file has projections of experts as modules, which `target_modules` names as others: the one
 * that all tokens share, and all of them as PEFT wrote them when transformers had experts one by one.
 *
 * @throws UserError where one of gate and up is adapted, or only some experts
 */
function withExperts(lora: LoraConfig, { tensors, path }: WeightFile): LoraConfig {
  const names = [...tensors.keys()].filter((name) => name.endsWith(".lora_A.weight"));
  const has = (module: string, owner: Owner) =>
    names.some((name) => name.endsWith(`.${module}.lora_A.weight`) && ownerOf(name) === owner);
  const found = lora.targets.flatMap((target) => {
    const ofExperts = loraModules.includes(target) ? inExperts(target) : null;
    const isOfEach = has(target, "expert"), isOfShared = has(target, "shared expert");
    if (ofExperts === null || !isOfEach && !isOfShared) return [target];
    if (!isOfEach && !lora.targets.includes(ofExperts)) {
      throw new UserError(
        `${path}: ${target} is adapted of the expert that all tokens share and not of the others each by itself; ` +
          "all or none is supported",
      );
    }
    return has(target, "layer") ? [target, ofExperts] : [ofExperts];
  });
  if (found.includes("experts.gate_proj") !== found.includes("experts.up_proj")) {
    throw new UserError(
      `${path}: of experts one of gate and up is adapted; both or neither is supported`,
    );
  }
  return { ...lora, targets: orderTargets(found) };
}

/**
 * The weights of an adapter by the names that they have on a model, checked by the file's header alone.
 *
 * @throws UserError when it is one of another shape
 */
export function checkedAdapterWeights(
  config: ModelConfig,
  lora: LoraConfig,
  file: WeightFile,
): WeightFile {
  const weights = adapterWeights(config, lora, file);
  checkWeights(weights, loraBlocks(config, lora));
  return weights;
}

/**
 * Reads a saved adapter's weights into those of a model on the GPU. When it fails, they hold a part of them.
 *
 * @throws UserError when it is one of another shape, or its file cannot be read
 */
export async function loadAdapterWeights(model: Model, { weights }: AdapterFolder): Promise<void> {
  const { gpu, config, adapter } = model;
  if (!adapter) throw new Error("the model has no adapter");
  const checked = checkedAdapterWeights(config, adapter.config, weights);
  await loadWeights(gpu, adapter.parameters, checked);
}
