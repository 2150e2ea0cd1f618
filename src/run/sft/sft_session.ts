import type { Gpu } from "../../gpu/gpu.ts";
import { latestCheckpoint, skippedCheckpoints } from "../store/checkpoint.ts";
import { Interrupt } from "../progress/interrupt.ts";
import { checkMemory } from "../memory/memory_check.ts";
import type { MemoryPlan } from "../memory/memory_plan.ts";
import { METRIC } from "../store/metric_names.ts";
import { MetricsLog } from "../store/metrics_log.ts";
import { ProgressLine } from "../progress/progress_line.ts";
import { RunFolder } from "../store/run_folder.ts";
import { planSftMemory, sftShrinks } from "../memory/sft_memory_plan.ts";
import type { SftConfig } from "../config/sft_config_schema.ts";
import { sftAccuracy, writeSftReport } from "../report/sft_report.ts";
import { SftRun } from "./sft_run.ts";

/** How fine-tuning is started and shown. */
export interface SftSessionOptions {
  /** Continue from the newest checkpoint in the folder. */
  readonly resume: boolean;
  /** The device in words, for the report. */
  readonly device: string;
  /** Told what memory the run will take, before any is taken. */
  readonly onPlan: (plan: MemoryPlan) => void;
  /** Told once the model is there. */
  readonly onOpen: (run: SftRun) => void;
}

/** Where the weights of a fine-tuning go. */
export function sftWeights(folder: RunFolder, config: SftConfig): string {
  return config.output_directory ?? folder.weights(config.policy);
}

/**
 * Fine-tunes one policy with live progress, to the end or until Ctrl-C; saves its weights and writes the
 * report.
 *
 * @param path the run's folder; made unless the run is resumed
 * @returns whether the run came to its end
 * @throws UserError when a file the configuration names is missing or the folder does not fit
 */
export async function fineTuneWithReport(
  gpu: Gpu,
  config: SftConfig,
  path: string,
  { resume, device, onPlan, onOpen }: SftSessionOptions,
): Promise<boolean> {
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
    const folder = resume ? RunFolder.open(path) : RunFolder.create(path, config);
    if (resume) restore(run, folder);
    onOpen(run);
    const reachedEnd = await trainLogged(run, config, folder, resume);
    const weights = sftWeights(folder, config);
    if (reachedEnd) await run.save(weights);
    writeSftReport(folder, {
      config,
      device,
      weights: reachedEnd ? weights : null,
      seconds: (performance.now() - started) / 1000,
      memory: { plannedBytes: plan.peakBytes, peakBytes: gpu.pool.peakBytes },
    });
    return reachedEnd;
  } finally {
    run.close();
  }
}

function restore(run: SftRun, folder: RunFolder): void {
  for (const { path } of skippedCheckpoints(folder.checkpoints)) {
    console.error(`${path} is not whole and is passed over; its updates are done again.`);
  }
  const checkpoint = latestCheckpoint(folder.checkpoints);
  if (checkpoint) run.restore(checkpoint.path);
}

async function trainLogged(
  run: SftRun,
  config: SftConfig,
  folder: RunFolder,
  resume: boolean,
): Promise<boolean> {
  // What came after the checkpoint is done again.
  using log = new MetricsLog(folder.metrics, resume ? run.step || -1 : undefined);
  const progress = new ProgressLine(config.steps);
  using interrupt = new Interrupt(() =>
    progress.note("Stopping after this update; Ctrl-C again stops at once, without saving it.")
  );
  let reachedEnd = true;
  let stepBegan = performance.now();
  try {
    await run.train({
      onStep(step, metrics) {
        log.append({ step, phase: config.policy, ...metrics });
        const now = performance.now();
        const tokensPerSecond = metrics["sft/tokens"] / ((now - stepBegan) / 1000);
        stepBegan = now;
        const status = `loss ${metrics[METRIC.supervisedLoss].toFixed(4)}`;
        progress.update({ step, kind: "update", status, tokensPerSecond });
      },
      async onEvaluation({ step, loss, accuracy, metrics }, isBest) {
        log.append({ step, phase: "evaluation", ...metrics });
        const { name } = sftAccuracy(config.policy);
        const share = accuracy === null ? "" : `, ${name} ${(100 * accuracy).toFixed(1)} %`;
        progress.note(`update ${step}: held-out loss ${loss.toFixed(4)}${share}`);
        if (isBest && config.keep_best) await run.save(folder.best(config.policy));
        stepBegan = performance.now();
      },
      async afterStep(step, isLast) {
        const isStopping = await interrupt.isRequested();
        const isDue = config.save_every > 0 && step % config.save_every === 0;
        if (isDue || isLast || isStopping) {
          log.sync();
          await run.saveState(folder.checkpoints, config.keep_checkpoints);
        }
        if (isStopping && !isLast) reachedEnd = false;
        return isStopping;
      },
    });
    return reachedEnd;
  } finally {
    progress.close();
  }
}
