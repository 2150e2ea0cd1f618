import { hostname } from "../../platform/system/machine.ts";
import { clockOffset } from "../../distributed/clock_offset.ts";
import type { Communicator } from "../../distributed/communicator.ts";
import { timedCommunicator, type Transfer } from "../../distributed/timed_communicator.ts";
import { collectValues } from "../../distributed/values.ts";
import type { Gpu } from "../../gpu/gpu.ts";
import type { RunEvent } from "../events/run_event.ts";
import type { RunEvents } from "../events/run_events.ts";
import type { Metrics } from "../store/metrics_log.ts";
import type { TimeInterval } from "./intervals.ts";
import { KernelActivity, type StepRange } from "./kernel_activity.ts";
import { rankActivity } from "./rank_activity.ts";
import { RunActivity } from "./run_activity.ts";
import { type Moment, now, type Span } from "./span.ts";
import { stepTimings } from "./step_timings.ts";
import { TraceFile } from "./trace_file.ts";
import { type RankWaiting, Waiting } from "./waiting.ts";

/** Options of `--trace`. */
export interface TraceOptions {
  /** Written by the first rank when the run begins. */
  readonly path: string;
  /** Steps of which every launch on the GPUs is shown; null: none. */
  readonly kernelsOf: StepRange | null;
}

/** A clock that is told when a training step, or the run, has ended; all ranks tell it. */
export interface StepClock {
  /**
   * @param seconds that the step took
   * @returns on the first of several ranks, how long each waited and what it sent, see `stepTimings`
   */
  stepEnd(seconds: number): Promise<Metrics>;
  /** The run is about to tell that it is finished: what came after the last step is told too. */
  runEnd(): Promise<void>;
}

/** A rank's report to the first one at the end of a step, its times on the first rank's clock. */
interface RankReport {
  readonly name: string;
  readonly happened: readonly (Span | Moment)[];
  readonly transfers: readonly Transfer[];
  readonly busy: readonly TimeInterval[];
}

/** Reports have a channel of their own. */
const CHANNEL = 90;
/** Clocks drift apart by some milliseconds an hour; so many steps lie between two comparisons. */
const STEPS_BETWEEN_CLOCKS = 50;

/**
 * What the ranks of a run do when. Each hears its own run's events, messages and GPU; at the end of a step the
 * first one is told, who says how much of it each rank waited and sent, tells the run what each of them did
 * (`activity`), and writes the timeline of all where one was asked for.
 */
export class RunTimeline implements StepClock, Disposable {
  /** The ranks as the run is to talk to them. */
  readonly ranks: Communicator;
  readonly #apart: Communicator;
  /** Bytes that each rank has sent there since the last step; the first rank knows, at one end of each message. */
  readonly #reported: number[];
  readonly #activity = new RunActivity();
  readonly #kernels: KernelActivity | null;
  readonly #waiting = new Waiting();
  #file: TraceFile | null = null;
  #happened: (Span | Moment)[] = [];
  #transfers: Transfer[] = [];
  #busy: TimeInterval[] = [];
  /** Milliseconds from this rank's clock to the first one's. */
  #offset = 0;
  #steps = 0;

  /** @param options null: no timeline is written */
  constructor(
    private readonly gpu: Gpu,
    ranks: Communicator,
    private readonly events: RunEvents,
    private readonly options: TraceOptions | null,
  ) {
    const kernelsOf = options?.kernelsOf ?? null;
    this.#kernels = kernelsOf && new KernelActivity(gpu.activity, kernelsOf);
    this.#reported = Array(ranks.size).fill(0);
    this.#apart = this.ranks = ranks;
    if (ranks.size > 1) {
      this.ranks = timedCommunicator(ranks, (transfer) => this.#transfers.push(transfer), now);
      this.#apart = timedCommunicator(ranks.channel(CHANNEL), ({ kind, peer, bytes }) => {
        this.#reported[kind === "send" ? ranks.rank : peer] += bytes;
      }, now);
      gpu.activity.listenToWork((begin, end) => {
        const { timeOrigin } = performance;
        this.#busy.push([timeOrigin + begin, timeOrigin + end]);
      });
    }
  }

  /** Hears an event of this rank's run; before the run begins there is no folder to write to. */
  hear(event: RunEvent): void {
    if (event.type === "started") this.#begin();
    const happened = [...this.#activity.hear(event), ...this.#kernels?.hear(event) ?? []];
    this.#file?.add(0, happened);
    const isWritten = this.options === null || this.#file !== null;
    this.#happened.push(...isWritten ? happened.filter(isPhase) : happened);
  }

  async stepEnd(seconds: number): Promise<Metrics> {
    const end = now();
    const reports = await this.#collect();
    if (reports === null) return {};
    const waiting = this.#waiting.find(reports);
    this.#tell(reports, waiting);
    if (this.ranks.size === 1) return {};
    const step: TimeInterval = [end - 1000 * seconds, end];
    const reported = this.#reported.splice(0, reports.length, ...reports.map(() => 0));
    return stepTimings(step, waiting, reports.map(({ transfers }) => transfers), reported);
  }

  async runEnd(): Promise<void> {
    const reports = await this.#collect();
    if (reports !== null) this.#tell(reports, this.#waiting.find(reports));
  }

  /** @throws UserError when the file cannot be written */
  #begin(): void {
    if (this.options === null || this.ranks.rank > 0) return;
    this.#file = new TraceFile(this.options.path, now());
    if (this.ranks.size === 1) this.#file.nameRank(0, this.#name);
  }

  get #name(): string {
    const { name, engine } = this.gpu.info;
    const host = this.ranks.size > 1 ? ` on ${hostname()}` : "";
    return `rank ${this.ranks.rank}${host}: ${name}, ${engine} engine`;
  }

  /** @returns on the first rank, what each of them did since the last call; null on the others */
  async #collect(): Promise<RankReport[] | null> {
    if (this.#steps % STEPS_BETWEEN_CLOCKS === 0) {
      this.#offset = await clockOffset(this.#apart, now);
    }
    const reports = await collectValues(this.#apart, this.#take());
    if (this.#steps++ === 0 && this.ranks.size > 1) {
      reports?.forEach(({ name }, rank) => this.#file?.nameRank(rank, name));
    }
    return reports;
  }

  /** Takes this rank's activity since the last time. */
  #take(): RankReport {
    const shifted = <Timed extends { readonly begin: number }>(one: Timed): Timed => ({
      ...one,
      begin: one.begin + this.#offset,
      ...("end" in one && { end: Number(one.end) + this.#offset }),
    });
    return {
      name: this.#name,
      happened: this.#happened.splice(0).map(shifted),
      transfers: this.#transfers.splice(0).map(shifted),
      busy: this.#busy.splice(0).map(([begin, end]) => [begin + this.#offset, end + this.#offset]),
    };
  }

  #tell(reports: readonly RankReport[], waiting: readonly RankWaiting[]): void {
    const ranks = reports.map(({ happened }, rank) =>
      rankActivity(happened.filter(isPhase), waiting[rank])
    );
    const steps = new Set(ranks.flatMap((ofSteps) => [...ofSteps.keys()]));
    for (const step of [...steps].sort((a, b) => a - b)) {
      const ofStep = ranks.map((ofSteps) => ofSteps.get(step) ?? []);
      this.events.emit({ type: "activity", step, ranks: ofStep });
    }
    this.#write(reports, waiting);
  }

  #write(reports: readonly RankReport[], waiting: readonly RankWaiting[]): void {
    const file = this.#file;
    if (file === null) return;
    reports.forEach(({ happened }, rank) => {
      // The first rank's own activity is there already.
      if (rank > 0) file.add(rank, happened);
      const spans = (name: string, intervals: readonly TimeInterval[]) =>
        intervals.map(([begin, end]): Span => ({ track: "waiting", name, begin, end }));
      const { idle, communicating } = waiting[rank];
      file.add(rank, [...spans("idle", idle), ...spans("communicate", communicating)]);
    });
  }

  [Symbol.dispose](): void {
    this.gpu.activity.listenToWork(null);
    this.#kernels?.[Symbol.dispose]();
    this.#file?.[Symbol.dispose]();
  }
}

function isPhase(one: Span | Moment): one is Span {
  return one.phaseOf !== undefined;
}

/**
 * Runs all that a run does from its first event to its last, with a timeline that hears it. All ranks call it.
 *
 * @param options null: none is written
 */
export async function withTimeline<Result>(
  gpu: Gpu,
  { ranks, events }: { readonly ranks: Communicator; readonly events: RunEvents },
  options: TraceOptions | null,
  body: (timeline: RunTimeline) => Promise<Result>,
): Promise<Result> {
  using timeline = new RunTimeline(gpu, ranks, events, options);
  using _listening = events.listen((event) => timeline.hear(event));
  return await body(timeline);
}
