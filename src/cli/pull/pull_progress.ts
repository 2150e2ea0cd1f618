import { formatDuration } from "../../base/duration.ts";
import { formatBytes } from "../../base/format_bytes.ts";
import type { ProgressOutput } from "../progress/progress_line.ts";
import type { WantedFile } from "../../hub/listing.ts";

const LIVE_INTERVAL_MS = 100;
const PLAIN_INTERVAL_MS = 10_000;

/** One line about files being fetched: rewritten on a terminal, every ten seconds elsewhere. */
export class PullProgress {
  private readonly started: number;
  private lastLine: number;
  private liveLine: string | null = null;
  private readonly arrivedOf = new Map<string, number>();
  /** Bytes that came over the network, which rates are made of. */
  private received = 0;

  /** @param total bytes of all files that are to be fetched */
  constructor(private readonly total: number, private readonly output: ProgressOutput) {
    this.started = output.now();
    this.lastLine = output.isTerminal ? -Infinity : this.started;
  }

  /** Tells how many bytes of a file are there. */
  update(file: WantedFile, arrived: number): void {
    const before = this.arrivedOf.get(file.path);
    if (before !== undefined) this.received += Math.max(0, arrived - before);
    this.arrivedOf.set(file.path, arrived);
    const now = this.output.now();
    const interval = this.output.isTerminal ? LIVE_INTERVAL_MS : PLAIN_INTERVAL_MS;
    if (now - this.lastLine < interval) return;
    this.lastLine = now;
    const line = this.compose(file, (now - this.started) / 1000);
    if (!this.output.isTerminal) return this.output.writeLine(line);
    this.liveLine = line;
    this.output.rewrite(line);
  }

  /** Writes a line that stays, above the live one. */
  note(text: string): void {
    if (this.liveLine !== null) this.output.rewrite("");
    this.output.writeLine(text);
    if (this.liveLine !== null) this.output.rewrite(this.liveLine);
  }

  /** Ends the live line; call it once, also after a failure. */
  close(): void {
    if (this.liveLine !== null) {
      this.output.rewrite("");
      this.output.finish();
    }
    this.liveLine = null;
  }

  private compose(file: WantedFile, seconds: number): string {
    const arrived = this.arrivedOf.values().reduce((sum, bytes) => sum + bytes, 0);
    const rate = this.received / seconds;
    return [
      file.path,
      `${formatBytes(arrived)} of ${formatBytes(this.total)}`,
      ...(rate > 0 && Number.isFinite(rate)
        ? [
          `${formatBytes(rate)}/s`,
          `${formatDuration((this.total - arrived) / rate)} left`,
        ]
        : []),
    ].join(" · ");
  }
}
