import { dirname } from "node:path";
import type { Gpu } from "../../gpu/gpu.ts";
import { alone } from "../../distributed/communicator.ts";
import { removeIfPresent } from "../../platform/files/atomic_file.ts";
import { Failure } from "../../base/failure.ts";
import { reasonOf } from "../../base/failure_reason.ts";
import { readReason, REASON_FILE } from "../../platform/process/reason_file.ts";
import { UserError } from "../../base/user_error.ts";
import type { RunEndpoint } from "../control/endpoint/run_endpoint.ts";
import { requireNotRunning } from "../control/endpoint/control_file.ts";
import { RunControl } from "../control/run_control.ts";
import { EventLog } from "../events/event_log.ts";
import { RunEvents } from "../events/run_events.ts";
import { RunFolder } from "../store/run_folder.ts";
import type { SessionOptions } from "../session/run_session.ts";
import { isFinished, trainWithReport } from "../session/training_session.ts";
import type { TangoRun } from "../tango/tango_run.ts";
import { withTimeline } from "../trace/run_timeline.ts";
import { type ComparedRun, planComparison, requireModels } from "./comparison.ts";
import { comparisonFiles, type StoredComparison } from "./comparison_folder.ts";
import { type DivergedRun, type ReportOptions, writeComparison } from "./comparison_report.ts";
import { readRows, rowOf, type RunRow, writeRows } from "./run_row.ts";

/**
 * Does a run that is not finished, from its newest checkpoint on; returns whether it reached its end. What it throws
 * for a run that has diverged says so as its reason.
 */
export type DoRun = (run: ComparedRun) => Promise<boolean>;

/** Options of a comparison, and who follows it. */
export interface ComparisonOptions extends ReportOptions {
  readonly doRun: DoRun;
  /** Told what happens: `comparedRun`, then that run's events, and so on. */
  readonly events?: RunEvents;
  /** Asked between steps. */
  readonly control?: RunControl;
  /** By which other processes reach the control. */
  readonly endpoint?: RunEndpoint;
  /** Memory that the endpoint tells of; that of the runs where they are in this process. */
  readonly pool?: Parameters<RunEndpoint["open"]>[1];
}

const NO_POOL = { budgetBytes: Infinity, reservedBytes: 0, peakBytes: 0 };

/** What became of a comparison. */
export interface ComparisonEnd {
  /** Whether all runs are done now. */
  readonly isDone: boolean;
  /** The table of those that are; null when none is. */
  readonly table: string | null;
  /** Runs that ended because a policy ran away, in the order in which they did. */
  readonly diverged: readonly DivergedRun[];
}

/**
 * Does all runs that have left no row yet, each in its own folder, as many at once as `jobs` says; row, tables and curves
 * are written after each. A run that diverges leaves no row, and the others go on; any other failure ends them all.
 */
export async function runComparison(
  comparison: StoredComparison,
  path: string,
  {
    doRun,
    events = new RunEvents(),
    control = new RunControl(),
    endpoint,
    pool = NO_POOL,
    ...report
  }: ComparisonOptions,
): Promise<ComparisonEnd> {
  using _locked = control.lock(
    "The runs of a comparison keep the configurations that it began with; none may change.",
  );
  requireModels(comparison.arms);
  const folder = RunFolder.at(path);
  using _log = new EventLog(folder, events);
  endpoint?.open(folder, pool);
  const runs = planComparison(comparison.arms, comparison.seeds, path);
  const rows = new ComparisonRows(runs, path);
  const diverged: DivergedRun[] = [];
  const write = () => writeComparison(comparison, rows.planned, path, { ...report, diverged });
  const pending = runs.filter((run) => !rows.has(run));
  const going = new Map<ComparedRun, Promise<void>>();
  const isReady = ({ arm, seed }: ComparedRun) =>
    runs.every((other) =>
      other.seed !== seed || !arm.needs.includes(other.arm.name) || rows.has(other)
    );
  const begin = (run: ComparedRun) => {
    pending.splice(pending.indexOf(run), 1);
    requireNotRunning(run.folder);
    events.emit({
      type: "comparedRun",
      method: run.arm.name,
      seed: run.seed,
      path: run.folder.path,
      number: runs.length - pending.length,
      total: runs.length,
    });
    going.set(
      run,
      doRun(run).then((reachedEnd) => {
        if (!reachedEnd) return;
        rows.add(run);
        write();
      }, (error) => {
        const reason = reasonOf(error);
        if (reason?.code !== "diverged") throw error;
        diverged.push({ ...run, message: error.message, learningRate: reason.learningRate });
      }).finally(() => going.delete(run)),
    );
  };
  try {
    while (true) {
      // A run in this process waits by itself.
      while (control.isPaused && !control.isStopRequested) await control.nextRequest(1);
      while (going.size < report.jobs && !control.isStopRequested) {
        const next = pending.find(isReady);
        if (next === undefined) break;
        begin(next);
      }
      if (going.size === 0) break;
      await Promise.race(going.values());
    }
  } catch (error) {
    // The others keep what they have done.
    control.stop();
    await Promise.allSettled(going.values());
    throw error;
  }
  const isDone = runs.every((run) => rows.has(run));
  const table = write();
  events.emit({ type: "comparisonEnded", isDone });
  return { isDone, table, diverged };
}

/** The rows of finished runs, kept in rows.jsonl. */
class ComparisonRows {
  readonly #rows: Map<string, RunRow>;
  readonly #file: string;

  /** Reads them, and makes those of runs that were finished without leaving one. */
  constructor(private readonly runs: readonly ComparedRun[], path: string) {
    this.#file = comparisonFiles(path).rows;
    this.#rows = new Map(readRows(this.#file).map((row) => [keyOf(row.arm, row.seed), row]));
    const unread = runs.filter((run) => !this.has(run) && isFinished(run.folder, run.config));
    for (const run of unread) this.#rows.set(keyOf(run.arm.name, run.seed), rowOf(run));
    if (unread.length > 0) this.#write();
  }

  has({ arm, seed }: ComparedRun): boolean {
    return this.#rows.has(keyOf(arm.name, seed));
  }

  add(run: ComparedRun): void {
    this.#rows.set(keyOf(run.arm.name, run.seed), rowOf(run));
    this.#write();
  }

  /** Those of the planned runs, in their order. */
  get planned(): RunRow[] {
    return this.runs.flatMap(({ arm, seed }) => this.#rows.get(keyOf(arm.name, seed)) ?? []);
  }

  /** Rows of seeds that are not planned this time stay in the file, after the others. */
  #write(): void {
    writeRows(this.#file, [...new Set([...this.planned, ...this.#rows.values()])]);
  }
}

const keyOf = (arm: string, seed: number) => `${arm} ${seed}`;

/** Trains in this process. */
export function runHere(
  gpu: Gpu,
  options: Pick<SessionOptions<TangoRun>, "tuning" | "tell" | "control"> & { events: RunEvents },
): DoRun {
  return async ({ folder, config }) =>
    await withTimeline(
      gpu,
      { ranks: alone, events: options.events },
      null,
      (timeline) =>
        trainWithReport(gpu, config, folder.path, { ...options, resume: folder.isUsed, timeline }),
    );
}

/** How often a process that trains looks whether it was asked to stop. */
const LOOK_MS = 100;

/** Trains in a process of its own, by `./tango train`; what it prints goes into a file beside the run's folder. */
export function runElsewhere(
  program: string,
  control: RunControl,
  gpuIndex: number | undefined,
): DoRun {
  return async ({ folder, config }) => {
    const { path } = folder;
    Deno.mkdirSync(dirname(path), { recursive: true });
    const written = `${path}.yaml`;
    if (!folder.isUsed) Deno.writeTextFileSync(written, JSON.stringify(config));
    const options = folder.isUsed ? ["--resume"] : ["--config", written];
    const index = gpuIndex === undefined ? [] : ["--gpu-index", String(gpuIndex)];
    const reason = `${path}.reason.json`;
    removeIfPresent(reason);
    const child = new Deno.Command(Deno.execPath(), {
      args: [
        "run",
        "-A",
        "--node-modules-dir=manual",
        program,
        "train",
        ...options,
        "--run",
        path,
        ...index,
      ],
      env: { [REASON_FILE]: reason },
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    let isAsked = false;
    const looking = setInterval(() => {
      if (!control.isStopRequested || isAsked) return;
      isAsked = true;
      child.kill("SIGINT");
    }, LOOK_MS);
    try {
      const [, printed, { code }] = await Promise.all([
        append(child.stdout, `${path}.log`),
        append(child.stderr, `${path}.log`),
        child.status,
      ]);
      const isDone = isFinished(folder, config);
      if (code !== 0 && !isDone && !control.isStopRequested) {
        const message = `${path} ended with exit code ${code}: ${
          printed.trim().split("\n").slice(-3).join("\n")
        }\nAll that it printed is in ${path}.log.`;
        const found = readReason(reason);
        throw found === null
          ? new UserError(message)
          : Object.assign(new Failure(message), { reason: found });
      }
      return isDone;
    } finally {
      clearInterval(looking);
      removeIfPresent(reason);
    }
  };
}

/** Writes a stream to a file's end as it comes, and returns it whole. */
async function append(stream: ReadableStream<Uint8Array>, path: string): Promise<string> {
  using file = Deno.openSync(path, { append: true, create: true });
  const pieces: Uint8Array[] = [];
  for await (const piece of stream) {
    for (let at = 0; at < piece.length;) at += file.writeSync(piece.subarray(at));
    pieces.push(piece);
  }
  return new TextDecoder().decode(await new Blob(pieces as BlobPart[]).arrayBuffer());
}
