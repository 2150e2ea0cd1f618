import { type MetricsLine, MetricsLog, TimingsLog } from "../store/metrics_log.ts";
import type { RunFolder } from "../store/run_folder.ts";
import { SamplesLog } from "../store/samples_log.ts";
import { TensorBoardLog } from "../store/tensorboard_log.ts";
import { CHANGED } from "../store/metric_names.ts";
import { AuditLog, type LoggedSoFar } from "../store/audit_log.ts";
import { timelineLine, TimelineLog } from "../store/timeline_log.ts";
import type { PhaseEndedEvent, RunEvent } from "./run_event.ts";

/** Which logs are written besides those of metrics, timings and the timeline. */
export interface LogChoice {
  /** Which steps leave samples; null where the run tells none. */
  readonly samples: "every step" | "no step" | null;
  readonly tensorBoard: boolean;
}

/** Writes metrics.jsonl, audit.jsonl, timings.jsonl, timeline.jsonl, samples.jsonl and TensorBoard's files as a run tells them. */
export class RunLogs implements Disposable {
  readonly #metrics: MetricsLog;
  readonly #records: AuditLog;
  readonly #timings: TimingsLog;
  readonly #timeline: TimelineLog;
  readonly #samples: SamplesLog | null;
  readonly #tensorBoard: TensorBoardLog | null;
  /** Seconds of the step's phases so far, and of the pause before it. */
  #seconds: Record<string, number> = {};
  #pauseBegan = 0;
  /** Settings that are new in the present step. */
  #changes: Record<string, string | number> = {};

  /**
   * @param resumed where a resumed run goes on
   * @throws UserError when there are logs already that are not to be continued
   */
  constructor(
    folder: RunFolder,
    resumed: LoggedSoFar | undefined,
    { samples, tensorBoard }: LogChoice,
  ) {
    const lastStep = resumed?.lastStep;
    using opened = new DisposableStack();
    this.#metrics = opened.use(new MetricsLog(folder.metrics, lastStep, true));
    this.#records = opened.use(new AuditLog(folder.audit, resumed));
    this.#timings = opened.use(new TimingsLog(folder.timings, lastStep));
    this.#timeline = opened.use(new TimelineLog(folder.timeline, lastStep));
    this.#samples = samples &&
      opened.use(new SamplesLog(folder.samples, lastStep, samples === "every step"));
    this.#tensorBoard = tensorBoard
      ? opened.use(new TensorBoardLog(folder.tensorBoard, lastStep))
      : null;
    opened.move();
  }

  /** Damage to lines of a resumed run that were to be kept, in words. */
  get damage(): string[] {
    const logs = [this.#metrics, this.#records, this.#timings, this.#timeline, this.#samples];
    return logs.flatMap((log) => log?.damage ?? []);
  }

  /** Hears an event. */
  hear(event: RunEvent): void {
    switch (event.type) {
      case "phaseBegan":
        // The lines of a step are on the disk before a checkpoint says that the step is done.
        if (event.phase === "checkpoint") this.#sync();
        break;
      case "phaseEnded":
        this.#count(event);
        break;
      case "changed":
        for (const [key, value] of Object.entries(event.settings)) {
          this.#changes[`${CHANGED}${key}`] = value;
        }
        break;
      case "step": {
        const { step, phase, metrics, timings } = event;
        this.#appendMetrics({ step, phase, ...metrics, ...this.#changes });
        const line: MetricsLine = { step, phase, ...timings, ...this.#seconds };
        this.#timings.append(line);
        this.#tensorBoard?.append(line);
        this.#seconds = {};
        this.#changes = {};
        break;
      }
      case "evaluation":
        this.#appendMetrics({ step: event.step, phase: "evaluation", ...event.metrics });
        break;
      case "record": {
        const { type: _, ...line } = event;
        this.#records.append(line);
        // Its checkpoint, which counts on it, is written already but for its state.
        if (event.phase === "weights") this.#records.sync();
        break;
      }
      case "activity":
        this.#timeline.append(timelineLine(event.step, event.ranks));
        break;
      case "samples":
        for (const sample of event.samples) this.#samples?.append(sample);
        break;
      case "paused":
        this.#pauseBegan = performance.now();
        break;
      case "continued":
        this.#seconds["perf/paused_seconds"] = (performance.now() - this.#pauseBegan) / 1000;
        break;
    }
  }

  #appendMetrics(line: MetricsLine): void {
    this.#metrics.append(line);
    this.#tensorBoard?.append(line);
  }

  #count({ phase, seconds }: PhaseEndedEvent): void {
    if (phase === "evaluation" || phase === "checkpoint") return;
    const name = `perf/${phase}_seconds`;
    this.#seconds[name] = (this.#seconds[name] ?? 0) + seconds;
  }

  get #logs() {
    return [
      this.#metrics,
      this.#records,
      this.#timings,
      this.#timeline,
      this.#samples,
      this.#tensorBoard,
    ];
  }

  #sync(): void {
    for (const log of this.#logs) log?.sync();
  }

  [Symbol.dispose](): void {
    for (const log of this.#logs) log?.close();
  }
}
