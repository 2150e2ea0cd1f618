import assert from "node:assert/strict";
import { join } from "node:path";
import { timelineLine } from "../../../src/run/store/timeline_log.ts";
import { readTimeline } from "../../../src/server/runs/read_timeline.ts";
import { withFolder } from "../written_run.ts";

const began = Date.UTC(2026, 0, 1);

/** Of every step its training on `ranks(step)` ranks, and of every tenth what came after it as a line of its own. */
function write(path: string, steps: number, ranks: (step: number) => number): void {
  const line = (step: number, name: string, begin: number, end: number) => {
    const spans = Array.from({ length: ranks(step) }, () => [{ name, begin, end }]);
    return `${JSON.stringify(timelineLine(step, spans))}\n`;
  };
  const lines = Array.from({ length: steps }, (_, index) => {
    const step = index + 1;
    const begin = began + 1000 * step;
    return line(step, "rollout", begin, begin + 500) +
      (step % 10 === 0 ? line(step, "checkpoint", begin + 500, begin + 600) : "");
  });
  Deno.writeTextFileSync(path, lines.join(""));
}

Deno.test("timeline: only the steps asked for are read, wherever they are", async () => {
  await withFolder((root) => {
    const path = join(root, "timeline.jsonl");
    assert.deepEqual(readTimeline(path, { from: 0, to: 9 }, began), []);
    Deno.writeTextFileSync(path, "");
    assert.deepEqual(readTimeline(path, { from: 0, to: 9 }, began), []);
    write(path, 30_000, (step) => step <= 20 ? 4 : 2);
    const steps = (from: number, to: number, rank = 0) =>
      readTimeline(path, { from, to }, began).find((one) => one.rank === rank)?.spans
        .map(({ step }) => step) ?? [];
    assert.deepEqual(steps(1, 3), [1, 2, 3]);
    assert.deepEqual(steps(0, 1), [1]);
    assert.deepEqual(steps(9, 11), [9, 10, 10, 11]);
    for (const step of [2, 4095, 17_771, 29_999]) assert.deepEqual(steps(step, step), [step]);
    assert.deepEqual(steps(30_000, 1e12), [30_000, 30_000]);
    assert.deepEqual(steps(30_001, 1e12), []);
    assert.deepEqual(steps(5, 4), []);
    // Ranks of an earlier part of the run.
    assert.deepEqual(steps(19, 22, 3), [19, 20, 20]);
    const [{ spans: [first] }] = readTimeline(path, { from: 7, to: 7 }, began - 2000);
    assert.deepEqual(first, { name: "rollout", step: 7, begin: 9, end: 9.5 });
    // Of all of them, the last: as many as a page can show.
    const all = steps(0, 1e12);
    assert.ok(all.length > 500 && all.length < 10_000, `${all.length}`);
    assert.equal(all.at(-1), 30_000);
    assert.deepEqual(all, all.toSorted((a, b) => a - b));
    // A line that is being written.
    Deno.writeTextFileSync(path, '{"step":30001,"at":', { append: true });
    assert.deepEqual(steps(29_999, 1e12), [29_999, 30_000, 30_000]);
    Deno.writeTextFileSync(path, '{"st');
    assert.deepEqual(steps(0, 9), []);
  });
});
