import { readTextFileSync } from "../../platform/system/files.ts";
import type { TangoConfig } from "../config/config_schema.ts";
import { loadSftConfig, loadTangoConfig } from "../config/load_config.ts";
import { placementOf, requireShards } from "../config/placement.ts";
import type { SftConfig } from "../config/sft_config_schema.ts";
import type { RunFolder } from "../store/run_folder.ts";
import { type Input, sftInputs, tangoInputs } from "./inputs.ts";

/** A run to be looked into, by its method. */
export type StoredRun =
  | { readonly kind: "train"; readonly config: TangoConfig }
  | { readonly kind: "sft"; readonly config: SftConfig };

/**
 * The run in a folder, all of whose ranks hold both policies: where they lay shows in no bit.
 *
 * @param ranks that it is to be done again on
 * @throws UserError when its configuration is not one, or the ranks do not fit it
 */
export function storedRun({ configuration }: RunFolder, ranks: number): StoredRun {
  if (/^policy:/m.test(readTextFileSync(configuration))) {
    const config = loadSftConfig(configuration);
    requireShards(config.reduction.shards, ranks, "the model");
    return { kind: "sft", config };
  }
  const config = loadTangoConfig(configuration, { set: ["placement=null"] });
  placementOf(config, ranks);
  return { kind: "train", config };
}

/** What it reads from the disk. */
export function inputsOf(run: StoredRun): Input[] {
  return run.kind === "sft" ? sftInputs(run.config) : tangoInputs(run.config);
}
