import assert from "node:assert/strict";
import { formatDuration } from "../../../src/base/duration.ts";
import type { ProgressOutput } from "../../../src/cli/progress/progress_line.ts";
import { RunProgress } from "../../../src/cli/progress/run_progress.ts";
import { describeTangoSteps } from "../../../src/cli/progress/tango_progress.ts";
import { METRIC } from "../../../src/run/store/metric_names.ts";

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

function train(output: RecordedOutput, from: number, to: number, total: number): RunProgress {
  const progress = new RunProgress(describeTangoSteps, output);
  progress.hear({ type: "started", step: from - 1, total, ranks: 1 });
  for (let step = from; step <= to; step++) {
    output.time += 3000;
    const phase = step % 4 === 0 ? "verifier" : "generator";
    progress.hear({
      type: "step",
      step,
      phase,
      metrics: { [`${phase}/reward`]: step / 100 },
      timings: { [METRIC.tokensPerSecond]: 12345 },
    });
  }
  return progress;
}

Deno.test("progress: off a terminal a plain line every ten seconds, and the last one", () => {
  const output = new RecordedOutput(false);
  train(output, 1, 10, 10)[Symbol.dispose]();
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
  progress.hear({ type: "warning", step: 1, message: "saved" });
  progress[Symbol.dispose]();
  const live = "~G 1/2 · reward G 0.01 · 12.3k tokens/s · 3 s left";
  assert.deepEqual(output.written, [live, "~", "saved", live, "finish"]);
});

Deno.test("progress: each run of a comparison begins anew, under its number", () => {
  const output = new RecordedOutput(false);
  const progress = train(output, 4, 4, 4);
  const run = { method: "GRPO alone", seed: 0, path: "runs/c/alone", number: 2, total: 3 };
  progress.hear({ type: "comparedRun", ...run });
  progress.hear({ type: "started", step: 0, total: 1, ranks: 1 });
  const timings = { [METRIC.tokensPerSecond]: 50 };
  const metrics = { [METRIC.generatorReward]: 1 };
  progress.hear({ type: "step", step: 1, phase: "generator", metrics, timings });
  assert.equal(output.written[1], "2/3 · G 1/1 · reward G 1.00 · 50 tokens/s · done");
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
