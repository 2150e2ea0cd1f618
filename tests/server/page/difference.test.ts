import assert from "node:assert/strict";
import { causesOf } from "../../../src/server/page/difference/causes.ts";
import { textParts } from "../../../src/server/page/difference/text_parts.ts";

Deno.test("difference: each thing that two runs went by and that differs is a row", () => {
  const causes = causesOf({
    settings: [
      { key: "rollout.temperature", step: 0, a: 1, b: 0.9 },
      { key: "verifier", step: 0, a: null },
      { key: "evaluation.temperature", step: 5, b: 0.5 },
    ],
    inputs: [
      { key: "data.train[0]", a: "a.jsonl", b: "b.jsonl", line: 10 },
      { key: "rewards.module", a: "mine.ts", b: "mine.ts", line: null },
    ],
    surroundings: [{ what: "ranks", a: "1", b: "2, then 1", isVisible: false }],
  });
  assert.deepEqual(causes.map(({ what, note, a, b }) => [what, note, a, b]), [
    ["rollout.temperature", "", "1", "0.9"],
    ["verifier", "", "null", "not said"],
    ["evaluation.temperature", "changed from step 5 on", "not said", "0.5"],
    ["data.train[0]", "another file, from line 10 on", "a.jsonl", "b.jsonl"],
    ["rewards.module", "has changed in between", "mine.ts", "mine.ts"],
    ["ranks", "shows in no bit", "1", "2, then 1"],
  ]);
});

Deno.test("difference: a text is cut before and after its first token that is another", () => {
  const parts = { common: "The ", first: "dog", rest: " is" };
  assert.deepEqual(textParts({ text: "The dog is", end: 7 }, 4), parts);
  const over = { common: "The", first: "", rest: "" };
  assert.deepEqual(textParts({ text: "The", end: 3 }, 3), over);
});
