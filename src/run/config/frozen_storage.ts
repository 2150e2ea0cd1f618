import type { FrozenStorage } from "../../model/weights/weight_storage.ts";
import type { FrozenDtype } from "./shared_schema.ts";

const storages: Readonly<Record<FrozenDtype, FrozenStorage>> = {
  auto: "auto",
  quantised: "quantised",
  float32: "f32",
  float16: "f16",
  bfloat16: "bf16",
};

/** The storage that `frozen_dtype` or --frozen-dtype asks for. */
export function frozenStorage(dtype: FrozenDtype = "auto"): FrozenStorage {
  return storages[dtype];
}
