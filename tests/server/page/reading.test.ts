import assert from "node:assert/strict";
import { chosenOf, columnOptions, mappingOf } from "../../../src/server/page/data/reading.ts";

Deno.test("page's data: a proposed mapping is what its boxes say, and a path into a column stays a choice", () => {
  const columns = { question: ["topic", "text"], answer: "reward_model.ground_truth" };
  for (const mapping of [{ format: null, columns }, { format: "gsm8k", columns: null }]) {
    assert.deepEqual(mappingOf(chosenOf(mapping)), mapping);
  }
  assert.equal(mappingOf(chosenOf(null)), null);
  const chosen = chosenOf({ format: null, columns }).columns;
  assert.deepEqual(columnOptions(["text"], chosen.answer ?? "").map(([, words]) => words), [
    ...["–", "reward_model.ground_truth", "text"],
  ]);
  assert.equal(columnOptions(["text"], chosen.question ?? "")[1][1], "topic and text");
});
