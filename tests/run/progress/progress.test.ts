import assert from "node:assert/strict";
import { formatDuration } from "../../../src/base/duration.ts";
import { Progress } from "../../../src/run/progress/progress.ts";
import type { ProgressOutput } from "../../../src/run/progress/progress_line.ts";

class RecordedOutput implements ProgressOutput {
  readonly written: string[] = [];
  time = 0;
  constructor(readonly isTerminal: boolean) {}
  rewrite(line: string): void {
    this.written.push(`~${line}`);
  }
  finish(): void {
    this.written.push("finish");
  }
  writeLine(line: string): void {
    this.written.push(line);
  }
  now(): number {
    return this.time;
  }
}

function train(output: RecordedOutput, from: number, to: number, total: number): Progress {
  const progress = new Progress(total, null, output);
  for (let step = from; step <= to; step++) {
    output.time += 3000;
    progress.update({
      step,
      phase: step % 4 === 0 ? "verifier" : "generator",
      reward: step / 100,
      tokensPerSecond: 12345,
    });
  }
  return progress;
}

Deno.test("progress: off a terminal a plain line every ten seconds, and the last one", () => {
  const output = new RecordedOutput(false);
  train(output, 1, 10, 10).close();
  assert.deepEqual(output.written, [
    "G  1/10 · reward G 0.01 · 12.3k tokens/s · 27 s left",
    "G  5/10 · reward G 0.05 V 0.04 · 12.3k tokens/s · 15 s left",
    "G  9/10 · reward G 0.09 V 0.08 · 12.3k tokens/s · 3 s left",
    "G 10/10 · reward G 0.10 V 0.08 · 12.3k tokens/s · done",
  ]);
});

Deno.test("progress: a resumed run's estimate counts its own steps only", () => {
  const output = new RecordedOutput(false);
  train(output, 91, 91, 100);
  assert.match(output.written[0], /G {2}91\/100 .* 27 s left/);
});

Deno.test("progress: on a terminal one line is rewritten, notes stay above it", () => {
  const output = new RecordedOutput(true);
  const progress = train(output, 1, 1, 2);
  progress.note("saved");
  progress.close();
  const live = "~G 1/2 · reward G 0.01 · 12.3k tokens/s · 3 s left";
  assert.deepEqual(output.written, [live, "~", "saved", live, "finish"]);
});

Deno.test("formatDuration: seconds, minutes, hours", () => {
  assert.deepEqual([0.4, 59.4, 59.6, 245, 7380].map(formatDuration), [
    "0 s",
    "59 s",
    "1 min 00 s",
    "4 min 05 s",
    "2 h 03 min",
  ]);
});
