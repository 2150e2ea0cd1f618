import { exists } from "../../platform/files/atomic_file.ts";
import type { Gpu } from "../../gpu/gpu.ts";
import type { TangoConfig } from "../config/config_schema.ts";
import { tangoInputs } from "../record/inputs.ts";
import { planTangoMemory } from "../memory/tango_memory_plan.ts";
import { tangoShrinks } from "../memory/tango_shrinks.ts";
import { writeReport } from "../report/report.ts";
import { latestCheckpoint } from "../store/checkpoint.ts";
import type { RunFolder } from "../store/run_folder.ts";
import { TangoRun } from "../tango/tango_run.ts";
import { type Method, runSession, type SessionOptions } from "./run_session.ts";

/** RL Tango, as a session drives it. */
export const tango: Method<TangoConfig, TangoRun> = {
  plan: planTangoMemory,
  shrinks: tangoShrinks,
  open: TangoRun.open,
  samples: ({ samples_per_step }) => samples_per_step > 0 ? "every step" : "no step",
  inputs: tangoInputs,
  report: writeReport,
};

/** Whether a folder holds all that a run of this configuration leaves behind. */
export function isFinished(folder: RunFolder, config: TangoConfig): boolean {
  const step = latestCheckpoint(folder.checkpoints)?.step ?? 0;
  const lastWritten = config.verifier?.trained ? "verifier" : "generator";
  return step >= config.schedule.total_training_steps && exists(folder.weights(lastWritten)) &&
    exists(folder.report);
}

/** Trains both policies, see `runSession`. */
export async function trainWithReport(
  gpu: Gpu,
  config: TangoConfig,
  path: string,
  options: SessionOptions<TangoRun>,
): Promise<boolean> {
  return await runSession(gpu, tango, config, path, options);
}
