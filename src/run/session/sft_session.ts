import type { Gpu } from "../../gpu/gpu.ts";
import type { SftConfig } from "../config/sft_config_schema.ts";
import { sftInputs } from "../record/inputs.ts";
import { planSftMemory, sftShrinks } from "../memory/sft_memory_plan.ts";
import { writeSftReport } from "../report/sft_report.ts";
import { SftRun, sftWeights } from "../sft/sft_run.ts";
import { type Method, runSession, type SessionOptions } from "./run_session.ts";

/** Supervised fine-tuning, as a session drives it. */
export const fineTuning: Method<SftConfig, SftRun> = {
  plan: planSftMemory,
  shrinks: sftShrinks,
  open: (gpu, config, ranks) => SftRun.open(gpu, config, ranks),
  samples: () => null,
  inputs: sftInputs,
  report: (folder, config, facts) => {
    const weights = facts.reachedEnd ? sftWeights(folder, config) : null;
    writeSftReport(folder, config, weights, facts);
  },
};

/** Fine-tunes one policy, see `runSession`. */
export async function fineTuneWithReport(
  gpu: Gpu,
  config: SftConfig,
  path: string,
  options: SessionOptions<SftRun>,
): Promise<boolean> {
  return await runSession(gpu, fineTuning, config, path, options);
}
