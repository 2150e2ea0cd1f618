import { join } from "../../platform/system/paths.ts";
import { stringify } from "yaml";
import { exists } from "../../platform/files/atomic_file.ts";
import type { SftConfig } from "../config/sft_config_schema.ts";

/** Beside the weights that a fine-tuning leaves: its configuration, which says how the model is asked. */
const FILE = "fine_tuning.yaml";

/** The file, for the folder of a model that was fine-tuned. */
export function fineTuningFile(config: SftConfig): Record<string, string> {
  return { [FILE]: stringify(config) };
}

/** Path of the file in a model's folder; null where there is none. */
export function fineTuningOf(model: string): string | null {
  const path = join(model, FILE);
  return exists(path) ? path : null;
}
