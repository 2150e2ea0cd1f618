import type { TrainedStorage } from "../../model/decoder/parameters.ts";
import type { FrozenStorage } from "../../model/weights/weight_storage.ts";
import type { FrozenDtype, TrainedDtype } from "./shared_schema.ts";

const storages = {
  auto: "auto",
  quantised: "quantised",
  float32: "f32",
  float16: "f16",
  bfloat16: "bf16",
} as const satisfies Readonly<Record<FrozenDtype, FrozenStorage>>;

/** The storage that `frozen_dtype` or --frozen-dtype asks for. */
export function frozenStorage(dtype: FrozenDtype = "auto"): FrozenStorage {
  return storages[dtype];
}

/**
 * The storage of the weights that a policy began with, which are what it was sampled from at first: those that are
 * trained in 16 bits were rounded to them.
 */
export function startStorage(
  config: { readonly frozen_dtype: FrozenDtype; readonly trained_dtype: TrainedDtype },
  policy: { readonly trained: boolean; readonly lora: unknown },
): FrozenStorage {
  const rounded = policy.trained && policy.lora === null && config.trained_dtype !== "float32";
  return storages[rounded ? config.trained_dtype : config.frozen_dtype];
}

/** The storage that `trained_dtype` asks for. */
export function trainedStorage(dtype: TrainedDtype): TrainedStorage {
  return storages[dtype];
}
