import assert from "node:assert/strict";
import {
  after,
  type AskedByPage,
  isLearning,
  NO_MODEL,
} from "../../src/tab/page/conversation_state.ts";
import type { ToldOfModel as Told } from "../../src/tab/worker/messages.ts";

const all = (...messages: (Told | AskedByPage)[]) => messages.reduce(after, NO_MODEL);

const opened = (taughtBy: string | null, learned = taughtBy !== null): Told => ({
  ...{ type: "opened", name: "m.gguf", parameters: 1, bytes: 1, taughtBy, learned },
  device: { name: "", isSoftware: true, engine: "dawn", precision: "f32" } as never,
});
const teaching: AskedByPage = { type: "teaching", examples: "e.jsonl" };
const learned: Told = { type: "learned", line: { step: 2, phase: "generator" } };

Deno.test("conversation state: a lesson goes on until the model with its adapter is opened", () => {
  const during = all(opened(null), teaching, { type: "lesson", total: 4 }, learned);
  assert.equal(isLearning(during), true);
  assert.deepEqual(during.lesson?.lines.length, 1);
  const ends = after(during, { type: "ending" });
  assert.equal(isLearning(ends), true);
  const done = after(during, opened("e.jsonl"));
  assert.equal(isLearning(done), false);
  assert.deepEqual([done.lesson?.phase, done.lesson?.total], ["done", 4]);
  assert.equal(after(ends, opened(null)).lesson?.phase, "ended");
  // A second lesson that is ended leaves the adapter of the first.
  assert.equal(after(ends, opened("first.jsonl", false)).lesson?.phase, "ended");
});

Deno.test("conversation state: a lesson that fails is over, and another model knows nothing of it", () => {
  const failed = all(opened(null), teaching, { type: "failed", message: "words" });
  assert.equal(isLearning(failed), false);
  assert.equal(failed.failure, "words");
  // The model is opened again before the failure is told, or cannot be.
  const reopened = all(opened(null), teaching, opened(null), { type: "failed", message: "words" });
  assert.deepEqual([reopened.lesson?.phase, reopened.failure], ["ended", "words"]);
  assert.equal(after(failed, { type: "opening" }).lesson, null);
});
