import type { Gpu } from "../gpu/gpu.ts";
import { checkMemory } from "./memory_check.ts";
import type { MemoryPlan } from "./memory_plan.ts";
import { MetricsLog } from "./metrics_log.ts";
import { METRIC } from "./metric_names.ts";
import { ProgressLine } from "./progress_line.ts";
import { RunFolder } from "./run_folder.ts";
import { planSftMemory, sftShrinks } from "./sft_memory_plan.ts";
import type { SftConfig } from "./sft_config_schema.ts";
import { sftAccuracy, writeSftReport } from "./sft_report.ts";
import { type SftEvaluation, SftRun } from "./sft_run.ts";

/** How fine-tuning is shown. */
export interface SftSessionOptions {
  /** The device in words, for the report. */
  readonly device: string;
  /** Told what memory the run will take, before any is taken. */
  readonly onPlan: (plan: MemoryPlan) => void;
  /** Told once the model is there. */
  readonly onOpen: (run: SftRun) => void;
}

/**
 * Fine-tunes one policy with live progress; saves its weights and writes the report.
 *
 * @param path the run's folder, which is made
 * @param onOpen told once the model is there
 * @returns the last evaluation and where the weights are
 * @throws UserError when a file the configuration names is missing or the folder is in use
 */
export async function fineTuneWithReport(
  gpu: Gpu,
  config: SftConfig,
  path: string,
  { device, onPlan, onOpen }: SftSessionOptions,
): Promise<{ evaluation: SftEvaluation; weights: string }> {
  const started = performance.now();
  const plan = await checkMemory(gpu, {
    config,
    limit: config.memory_limit_gb,
    plan: (changed) => planSftMemory(gpu, changed),
    shrinks: sftShrinks,
  });
  onPlan(plan);
  const run = await SftRun.open(gpu, config);
  try {
    const folder = RunFolder.create(path, config);
    onOpen(run);
    const evaluation = await trainLogged(run, config, folder);
    const weights = config.output_directory ?? folder.weights(config.policy);
    await run.save(weights);
    const seconds = (performance.now() - started) / 1000;
    writeSftReport(folder, { config, device, weights, seconds });
    return { evaluation, weights };
  } finally {
    run.close();
  }
}

async function trainLogged(
  run: SftRun,
  config: SftConfig,
  folder: RunFolder,
): Promise<SftEvaluation> {
  using log = new MetricsLog(folder.metrics);
  const progress = new ProgressLine(config.steps);
  const { name, metric } = sftAccuracy(config.policy);
  let stepBegan = performance.now();
  try {
    return await run.train((step, metrics) => {
      log.append({ step, phase: config.policy, ...metrics });
      const now = performance.now();
      const tokensPerSecond = metrics["sft/tokens"] / ((now - stepBegan) / 1000);
      stepBegan = now;
      const status = `loss ${metrics[METRIC.supervisedLoss].toFixed(4)}`;
      progress.update({ step, kind: "update", status, tokensPerSecond });
    }, ({ step, metrics }) => {
      log.append({ step, phase: "evaluation", ...metrics });
      progress.note(`update ${step}: ${name} ${(100 * metrics[metric]).toFixed(1)} %`);
      stepBegan = performance.now();
    });
  } finally {
    progress.close();
  }
}
