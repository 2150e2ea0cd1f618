import { startedBy } from "../distributed/mpi/started_by.ts";
import type { Settings } from "../run/config/changeable.ts";
import { RunEndpoint } from "../run/control/endpoint/run_endpoint.ts";
import { RunControl } from "../run/control/run_control.ts";
import { RunEvents } from "../run/events/run_events.ts";
import { Interrupt, type InterruptSignal } from "./interrupt.ts";
import { LostReader } from "./lost_reader.ts";
import { type DescribeStep, RunProgress } from "./progress/run_progress.ts";

/**
 * A run on the terminal: its progress is shown, Ctrl-C asks it to stop, and other processes may ask it for more. It goes
 * on when the terminal is lost.
 */
export class FollowedRun implements Disposable {
  readonly events = new RunEvents();
  readonly control = new RunControl();
  readonly endpoint: RunEndpoint = new RunEndpoint(this.control, this.events);
  readonly progress: RunProgress;
  readonly #interrupt: Interrupt;
  readonly #lostReader = new LostReader();

  /**
   * @param describer makes what describes the steps of one run
   * @param step what a step is called
   */
  constructor(describer: () => DescribeStep, step: "step" | "update") {
    this.progress = new RunProgress(describer);
    this.events.listen((event) => this.progress.hear(event));
    // By another signal a launcher ends its ranks.
    const isRank = startedBy((name) => Deno.env.get(name)) !== null;
    this.#interrupt = new Interrupt((signal) => {
      this.control.stop();
      this.progress.note(
        `Stopping after this ${step}; ${again(signal)} stops at once, without saving it.`,
      );
    }, isRank ? ["SIGINT"] : undefined);
  }

  /** Exit status when the run was stopped before its end. */
  get stoppedExitCode(): number {
    return this.#interrupt.exitCode;
  }

  /** Changes settings of the run as soon as it goes on, from its next step. */
  changeAtStart(settings: Settings): void {
    this.events.listen((event) => {
      if (event.type === "started") this.control.change(settings);
    });
  }

  [Symbol.dispose](): void {
    this.endpoint[Symbol.dispose]();
    this.#interrupt[Symbol.dispose]();
    this.progress[Symbol.dispose]();
    this.#lostReader[Symbol.dispose]();
  }
}

const again = (signal: InterruptSignal) =>
  signal === "SIGINT" ? "Ctrl-C again" : `another ${signal} or Ctrl-C`;
