import { createLogUpdate } from "log-update";
import process from "node:process";
import { formatDuration } from "../../base/duration.ts";
import { launchNotes } from "../ranks/launch_notes.ts";

/** Where progress goes and what time it is; tests put their own here. */
export interface ProgressOutput {
  readonly isTerminal: boolean;
  /** Rewrites the live line. Used on a terminal only. */
  rewrite(line: string): void;
  /** Ends the live line, which stays on the screen. */
  finish(): void;
  /** Writes a line that stays. */
  writeLine(line: string): void;
  /** Milliseconds from any fixed moment. */
  now(): number;
}

/** What the line says after a step. */
export interface ProgressStatus {
  /** Steps done so far. */
  readonly step: number;
  /** Stands before the step's number: its kind. */
  readonly kind: string;
  /** Stands after it: how the run is going. */
  readonly status: string;
  readonly tokensPerSecond: number;
}

const PLAIN_INTERVAL_MS = 10_000;
const REMEMBERED_STEPS = 20;

/** One line about a run that is rewritten on a terminal, and quiet plain lines elsewhere. */
export class ProgressLine {
  private readonly finishTimes: number[];
  private lastPlainLine = -Infinity;
  private liveLine: string | null = null;

  /**
   * @param total steps of the whole run
   * @param label stands at the beginning of every line
   */
  constructor(
    private readonly total: number,
    private readonly label: string | null = null,
    private readonly output: ProgressOutput = standardError(),
  ) {
    this.finishTimes = [output.now()];
  }

  /** Tells that a step has been done. */
  update(status: ProgressStatus): void {
    const now = this.output.now();
    this.finishTimes.push(now);
    if (this.finishTimes.length > REMEMBERED_STEPS + 1) this.finishTimes.shift();
    const line = this.compose(status);
    if (this.output.isTerminal) {
      this.liveLine = line;
      this.output.rewrite(line);
    } else if (now - this.lastPlainLine >= PLAIN_INTERVAL_MS || status.step === this.total) {
      this.lastPlainLine = now;
      this.output.writeLine(line);
    }
  }

  /** Writes a line that stays, above the live one. */
  note(text: string): void {
    if (this.liveLine !== null) this.output.rewrite("");
    this.output.writeLine(text);
    if (this.liveLine !== null) this.output.rewrite(this.liveLine);
  }

  /** Ends the live line; call it once, also after a failure. */
  close(): void {
    if (this.liveLine !== null) this.output.finish();
    this.liveLine = null;
  }

  private compose({ step, kind, status, tokensPerSecond }: ProgressStatus): string {
    const number = String(step).padStart(String(this.total).length);
    return [
      ...(this.label === null ? [] : [this.label]),
      `${kind} ${number}/${this.total}`,
      status,
      `${formatRate(tokensPerSecond)} tokens/s`,
      step < this.total ? `${formatDuration(this.secondsLeft(step))} left` : "done",
    ].join(" · ");
  }

  /** From the mean time of the last steps, which covers the mix of both phases. */
  private secondsLeft(step: number): number {
    const times = this.finishTimes;
    const perStep = (times[times.length - 1] - times[0]) / (times.length - 1) / 1000;
    return perStep * (this.total - step);
  }
}

function formatRate(rate: number): string {
  return rate < 10_000 ? String(Math.round(rate)) : `${(rate / 1000).toFixed(1)}k`;
}

/** The terminal's standard error; that of a rank reaches it through pipes. */
export function standardError(): ProgressOutput {
  const beyond = launchNotes()?.terminal;
  const log = createLogUpdate(process.stderr, {
    defaultWidth: beyond?.columns,
    defaultHeight: beyond?.rows,
  });
  return {
    isTerminal: Boolean(beyond) || Deno.stderr.isTerminal(),
    rewrite: (line) => line === "" ? log.clear() : log(line),
    finish: () => log.done(),
    writeLine: (line) => console.error(line),
    now: () => performance.now(),
  };
}
