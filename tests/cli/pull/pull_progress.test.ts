import assert from "node:assert/strict";
import { PullProgress } from "../../../src/cli/pull/pull_progress.ts";

const file = {
  path: "model.safetensors",
  size: 2e9,
  checksum: { algorithm: "sha256", hex: "" },
} as const;

function recorder(isTerminal: boolean) {
  const lines: string[] = [];
  const clock = { now: 0 };
  const output = {
    isTerminal,
    rewrite: (line: string) => void lines.push(line),
    finish: () => void lines.push("end"),
    writeLine: (line: string) => void lines.push(line),
    now: () => clock.now,
  };
  return { lines, clock, output };
}

Deno.test("pull progress: bytes, rate and time left; what was there already is no rate", () => {
  const { lines, clock, output } = recorder(true);
  const progress = new PullProgress(2e9, output);
  progress.update(file, 1e9);
  clock.now = 1000;
  progress.update(file, 1.1e9);
  progress.close();
  assert.deepEqual(lines, [
    "model.safetensors · 1.00 GB of 2.00 GB",
    "model.safetensors · 1.10 GB of 2.00 GB · 0.10 GB/s · 9 s left",
    "",
    "end",
  ]);
});

Deno.test("pull progress: a plain line every ten seconds where there is no terminal", () => {
  const { lines, clock, output } = recorder(false);
  const progress = new PullProgress(2e9, output);
  for (clock.now = 0; clock.now <= 25_000; clock.now += 1000) {
    progress.update(file, clock.now * 1e4);
  }
  progress.note("a note");
  progress.close();
  assert.deepEqual(lines.map((line) => line.split(" · ")[1] ?? line), [
    "0.10 GB of 2.00 GB",
    "0.20 GB of 2.00 GB",
    "a note",
  ]);
});
