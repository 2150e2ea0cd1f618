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

/** The storage that `trained_dtype` asks for. */
export function trainedStorage(dtype: TrainedDtype): TrainedStorage {
  return storages[dtype];
}
