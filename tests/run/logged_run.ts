import type { Gpu } from "../../src/gpu/gpu.ts";
import type { TangoConfig } from "../../src/run/config/config_schema.ts";
import { readJsonLines } from "../../src/run/store/json_lines_log.ts";
import type { MetricsLine } from "../../src/run/store/metrics_log.ts";
import { RunFolder } from "../../src/run/store/run_folder.ts";
import { trainWithReport } from "../../src/run/session/training_session.ts";

/** Trains from beginning to end. @returns the lines of metrics.jsonl */
export async function loggedRun(
  gpu: Gpu,
  config: TangoConfig,
  path: string,
): Promise<MetricsLine[]> {
  await trainWithReport(gpu, config, path, { resume: false });
  return readJsonLines<MetricsLine>(RunFolder.open(path).metrics);
}
