import type { WeightStorage } from "../../model/decoder/layout.ts";
import type { TangoConfig } from "./config_schema.ts";

const storages = { float32: "f32", float16: "f16", bfloat16: "bf16" } as const;

/** The storage that `frozen_dtype` asks for; undefined leaves it to the file. */
export function frozenStorage(dtype: TangoConfig["frozen_dtype"]): WeightStorage | undefined {
  return dtype === "auto" ? undefined : storages[dtype];
}
