import assert from "node:assert/strict";
import { parseCritique } from "../../../src/rl/text/parse_critique.ts";
import { firstErrorFound, processMetrics } from "../../../src/rl/measures/process_metrics.ts";
import { assertClose } from "../../kernels/harness.ts";

const critique = (...judgments: string[]) =>
  parseCritique(
    `<step_verification>${
      judgments.map((judgment) => `<step>so \\boxed{${judgment}}</step>`).join("")
    }</step_verification>`,
  );

const good = "CORRECT", bad = "INCORRECT";

Deno.test("process evaluation: the first step called wrong is what is found", () => {
  assert.equal(firstErrorFound(critique(good, bad, good, bad), 4), 1);
  assert.equal(firstErrorFound(critique(bad), 1), 0);
  assert.equal(firstErrorFound(critique(good, good, good), 3), -1);
});

Deno.test("process evaluation: judging may end at the first wrong step, not before all right ones", () => {
  assert.equal(firstErrorFound(critique(good, bad), 5), 1);
  assert.equal(firstErrorFound(critique(good, good), 3), null);
  assert.equal(firstErrorFound(critique(), 2), null);
});

Deno.test("process evaluation: a judgment of a step that is not there finds nothing", () => {
  assert.equal(firstErrorFound(critique(good, good, bad), 2), null);
  assert.equal(firstErrorFound(critique(good, good, good), 2), null);
});

Deno.test("process evaluation: with an unreadable judgment the places are not known", () => {
  // Counting the readable ones alone would name step 0, which was not called wrong.
  assert.equal(firstErrorFound(critique("PERHAPS", bad), 2), null);
  assert.equal(firstErrorFound(critique("PERHAPS", good, good), 2), null);
});

Deno.test("process evaluation: F1 is the harmonic mean over both kinds, exact places count", () => {
  const judged = [
    { firstError: 2, found: 2 },
    { firstError: 0, found: 1 }, // wrong, but elsewhere
    { firstError: 1, found: -1 },
    { firstError: 3, found: null },
    { firstError: -1, found: -1 },
    { firstError: -1, found: -1 },
    { firstError: -1, found: 0 },
  ];
  const { erroneousAccuracy, correctAccuracy, f1 } = processMetrics(judged);
  assert.equal(erroneousAccuracy, 1 / 4);
  assert.equal(correctAccuracy, 2 / 3);
  assertClose([f1], [2 / (1 / (1 / 4) + 1 / (2 / 3))], {
    absolute: 1e-15,
    relative: 0,
    why: "the same formula in another order, in f64",
  });
});

Deno.test("process evaluation: a verifier that always says the same has F1 0", () => {
  const firstErrors = [0, 1, -1];
  for (const found of [-1, 0, null]) {
    assert.equal(
      processMetrics(firstErrors.map((firstError) => ({ firstError, found }))).f1 > 0,
      false,
    );
  }
  assert.equal(processMetrics([{ firstError: -1, found: -1 }]).f1, 0, "one kind is missing");
  assert.equal(processMetrics([]).f1, 0);
});
