import assert from "node:assert/strict";
import { type EvaluationFacts, evaluationTable } from "../../src/cli/eval/evaluation_table.ts";

const facts: EvaluationFacts = {
  title: "t",
  policy: "generator",
  problems: 100,
  passedOver: 0,
  samples: 8,
  temperature: 0.5,
  critiqueTemperature: 1,
  testTime: { critiques: 4, rewrites: 0 },
  metrics: { "eval/generator/accuracy": 0.5 },
};

Deno.test("eval's table: samples and critiques, each at the temperature that they were sampled at", () => {
  const table = evaluationTable(facts);
  assert.match(
    table,
    /8 samples each at temperature 0\.5,\neach judged by 4 critiques at temperature 1\n/,
  );
  // √(0.25 / 100)
  assert.match(table, /Uncertain by at most ±5\.0 %/);
  const verifier = evaluationTable({
    ...{ ...facts, policy: "verifier", testTime: null },
    metrics: { "eval/generator/sampled_accuracy": 0.1 },
  });
  assert.match(verifier, /8 samples each at temperature 1,\nabout one .* at temperature 0\.5\n/);
  // ½ √(0.25 / 10 + 0.25 / 90): the ten right solutions are half of a balanced accuracy.
  assert.match(verifier, /balanced accuracy is uncertain by at most ±8\.3 %/);
});
