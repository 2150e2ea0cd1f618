import assert from "node:assert/strict";
import { loadProgress } from "../../../src/cli/progress/load_progress.ts";

/** Told at these seconds of so many bytes of 5 GB, what is written. */
function lines(isTerminal: boolean, told: readonly (readonly [number, number])[]): string[] {
  let now = 0;
  const written: string[] = [];
  const listen = loadProgress({
    isTerminal,
    rewrite: (line) => written.push(line),
    finish: () => written.push("end"),
    writeLine: (line) => written.push(line),
    now: () => now,
  });
  for (const [second, bytes] of told) {
    now = 1000 * second;
    listen("models/big/model.gguf", bytes, 5e9);
  }
  return written;
}

Deno.test("loading: what is read at once needs no word", () => {
  for (const isTerminal of [true, false]) {
    assert.deepEqual(lines(isTerminal, [[0, 1e9], [1, 3e9], [1.9, 5e9]]), []);
    assert.deepEqual(lines(isTerminal, [[0, 1e9], [1, 3e9], [4, 5e9]]), []);
  }
});

Deno.test("loading: on a terminal the line follows, elsewhere it comes every ten seconds", () => {
  const told = [[0, 1e9], [2, 2e9], [3, 2.5e9], [12, 3e9], [20, 5e9]] as const;
  assert.deepEqual(lines(true, told), [
    "model.gguf · 2.00 GB of 5.00 GB · 3 s left",
    "model.gguf · 2.50 GB of 5.00 GB · 3 s left",
    "model.gguf · 3.00 GB of 5.00 GB · 8 s left",
    "model.gguf · 5.00 GB of 5.00 GB · read in 20 s",
    "end",
  ]);
  assert.deepEqual(lines(false, told), [
    "model.gguf · 2.00 GB of 5.00 GB · 3 s left",
    "model.gguf · 3.00 GB of 5.00 GB · 8 s left",
    "model.gguf · 5.00 GB of 5.00 GB · read in 20 s",
  ]);
});

Deno.test("loading: a second file begins anew", () => {
  const told = [[0, 1e9], [2, 4e9], [3, 5e9], [10, 1e9], [11, 2e9], [13, 5e9]] as const;
  assert.deepEqual(lines(false, told), [
    "model.gguf · 4.00 GB of 5.00 GB · 1 s left",
    "model.gguf · 5.00 GB of 5.00 GB · read in 3 s",
  ]);
});
