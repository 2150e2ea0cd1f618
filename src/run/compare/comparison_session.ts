import { join } from "node:path";
import type { Gpu } from "../../gpu/gpu.ts";
import { UserError } from "../../base/user_error.ts";
import { exists, writeFileAtomically } from "../../base/atomic_file.ts";
import { planComparison } from "./comparison.ts";
import { writeComparison } from "./comparison_report.ts";
import type { TangoConfig } from "../config/config_schema.ts";
import type { RunEndpoint } from "../control/endpoint/run_endpoint.ts";
import { RunControl } from "../control/run_control.ts";
import { EventLog } from "../events/event_log.ts";
import { RunEvents } from "../events/run_events.ts";
import { RunFolder } from "../store/run_folder.ts";
import { alone } from "../../distributed/communicator.ts";
import type { SessionOptions } from "../session/run_session.ts";
import { isFinished, trainWithReport } from "../session/training_session.ts";
import type { TangoRun } from "../tango/tango_run.ts";
import { withTimeline } from "../trace/run_timeline.ts";

/** The seeds of a comparison lie beside its configuration. */
const seedsFile = (path: string) => join(path, "seeds.json");

/** Whether a folder holds a comparison. */
export function isComparison(path: string): boolean {
  return exists(seedsFile(path));
}

/** Writes down which seeds a comparison has. */
export function writeSeeds(path: string, seeds: readonly number[]): void {
  writeFileAtomically(seedsFile(path), `${JSON.stringify(seeds)}\n`);
}

/**
 * The seeds of an earlier comparison.
 *
 * @throws UserError when the folder holds none
 */
export function readSeeds(path: string): number[] {
  if (!isComparison(path)) {
    throw new UserError(
      `${path} holds no comparison (there is no ${
        seedsFile(path)
      }). Check the folder given with --run.`,
    );
  }
  return JSON.parse(Deno.readTextFileSync(seedsFile(path)));
}

/** Options of a comparison, and who follows it. */
export interface ComparisonOptions extends Pick<SessionOptions<TangoRun>, "tuning" | "tell"> {
  /** For the report. */
  readonly device: string;
  /** Told what happens: `comparedRun`, then that run's events, and so on. */
  readonly events?: RunEvents;
  /** Asked between steps. */
  readonly control?: RunControl;
  /** By which other processes reach the control. */
  readonly endpoint?: RunEndpoint;
}

/**
 * Does all runs that are not finished yet, one after the other, each in its own folder; the results
 * are written anew after each.
 *
 * @returns whether all are done now, and the table of those that are (null when none is)
 */
export async function runComparison(
  gpu: Gpu,
  config: TangoConfig,
  seeds: readonly number[],
  path: string,
  { device, events = new RunEvents(), control = new RunControl(), endpoint, tuning, tell }:
    ComparisonOptions,
): Promise<{ isDone: boolean; table: string | null }> {
  using _locked = control.lock("All runs of a comparison have one configuration; none may change.");
  const folder = RunFolder.at(path);
  using _log = new EventLog(folder, events);
  endpoint?.open(folder, gpu.pool);
  const runs = planComparison(config, seeds, path);
  for (const [index, run] of runs.entries()) {
    if (isFinished(run.folder, run.config)) continue;
    events.emit({
      type: "comparedRun",
      method: run.method.name,
      seed: run.seed,
      path: run.folder.path,
      number: index + 1,
      total: runs.length,
    });
    const reachedEnd = await withTimeline(
      gpu,
      { ranks: alone, events },
      null,
      (timeline) =>
        trainWithReport(gpu, run.config, run.folder.path, {
          resume: run.folder.isUsed,
          events,
          control,
          timeline,
          tuning,
          tell,
        }),
    );
    const table = writeComparison(runs, path, device);
    if (reachedEnd) continue;
    events.emit({ type: "comparisonEnded", isDone: false });
    return { isDone: false, table };
  }
  const table = writeComparison(runs, path, device);
  events.emit({ type: "comparisonEnded", isDone: true });
  return { isDone: true, table };
}
