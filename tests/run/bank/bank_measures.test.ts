/** Measures of a judged bank beside numbers worked out by hand. */

import assert from "node:assert/strict";
import { parse as parseCsv } from "csv-parse/sync";
import type { Bank, BankSolution } from "../../../src/run/bank/bank_file.ts";
import { bankRows, measureJudged } from "../../../src/run/bank/bank_measures.ts";
import { bankTables, rowsCsv } from "../../../src/run/bank/bank_report.ts";
import type { BankCritique, JudgedSource } from "../../../src/run/bank/judgments_file.ts";

/** Two steps each. */
function solution(correct: boolean, steps: boolean[] | null, source = "early"): BankSolution {
  return {
    source,
    writer: { kind: "checkpoint", run: "runs/a", step: 1 },
    task: "last-letter",
    problem: "ab cd",
    reference: "bd",
    solution: "<think><step>ab:b</step><step>cd:d</step></think><answer>\\boxed{bd}</answer>",
    correct,
    steps,
  };
}

const says = (
  verdict: boolean | null,
  probability: number | null,
  steps: boolean[],
): BankCritique => ({ verdict, probability, steps });

// q: 0.9, (0.6 + 0.2) / 2 = 0.4 | right;  0.4, 0.3, (0 + 0.9) / 2 = 0.45 | wrong
const judged = [
  [solution(true, [true, true]), says(true, 0.9, [true, true]), says(true, 0.9, [true, true])],
  [solution(true, [true, true]), says(true, 0.6, [true, false]), says(false, 0.2, [true, true])],
  [
    solution(false, [false, true]),
    says(false, 0.4, [false, true]),
    says(false, 0.4, [true, false]),
  ],
  [
    solution(false, [true, false]),
    says(false, 0.3, [true, false]),
    says(false, 0.3, [true, false]),
  ],
  // What cannot be read vouches for nothing: 0.
  [solution(false, [false, true]), says(null, null, [true]), says(true, 0.9, [false, false])],
] as const;
const all = judged.map(([solution, ...critiques]) => ({ solution, critiques }));

Deno.test("bank: each measure is the one worked out by hand", () => {
  assert.deepEqual(measureJudged(all, 1), {
    // Pairs right/wrong: 0.9 wins 3 of 3; 0.4 ties with 0.4, beats 0.3, loses to 0.45: 4.5 of 6.
    auroc: 4.5 / 6,
    // Right solutions: 3 of 4 verdicts CORRECT; wrong ones: 4 of 6 INCORRECT.
    balanced_accuracy: (3 / 4 + 4 / 6) / 2,
    // Right steps: 2 + 2, 1 + 2, 1 + 0, 1 + 1, 0 + 0 = 10 of 14; wrong: 1 + 0, 1 + 1, 0 + 1 = 4 of 6.
    step_balanced_accuracy: (10 / 14 + 4 / 6) / 2,
    // Right steps of wrong solutions: 1 + 0, 1 + 1, 0 + 0 = 3 of 6; wrong: 4 of 6.
    step_balanced_accuracy_in_wrong: (3 / 6 + 4 / 6) / 2,
    // Shares of INCORRECT, wrong steps 0.5, 1, 1; right ones 0.5, 0, 1 (of the whole critique alone):
    // 0.5: ½ + 1 + 0; 1: 1 + 1 + ½, twice: 6.5 of 9.
    step_auroc_in_wrong: 6.5 / 9,
    // Places of wrong steps 0, 1, 0, of right ones 1, 0, 1: ½, ½ + 1 + ½, ½.
    step_auroc_in_wrong_by_place: 3 / 9,
    // Found: 0 yes, 1 no; 1 yes, 1 yes; not judged whole no, 0 yes.
    first_error_accuracy: 4 / 6,
    // With a verdict and a judgment: yes yes, no no, yes yes, yes yes, –, no: 6 of 9.
    verdict_is_conjunction: 6 / 9,
    verdict_unparsed: 1 / 10,
    steps_equal: 9 / 10,
    cut: 1 / 5,
  });
});

Deno.test("bank: a critique's own results, and how sure it is of a step, count where they are known", () => {
  const wrong = () => solution(false, [true, false]);
  const sure = (doubts: number[], own_differs: (boolean | null)[]): BankCritique => ({
    ...says(false, 0.2, [true, true]),
    ...{ doubts, own_differs },
  });
  const { step_auroc_in_wrong, own_result_differs, own_result_agrees } = measureJudged([
    { solution: wrong(), critiques: [sure([0.1, 0.4], [false, true])] },
    { solution: wrong(), critiques: [sure([0.3, 0.2], [true, false])] },
  ], 0);
  // Wrong steps 0.4 and 0.2, right ones 0.1 and 0.3: three of four pairs.
  assert.equal(step_auroc_in_wrong, 3 / 4);
  assert.equal(own_result_differs, 1 / 2);
  assert.equal(own_result_agrees, 1 / 2);
});

function bankOf(solutions: readonly BankSolution[]): Bank {
  return {
    path: "bank.jsonl",
    sha256: "b",
    task: "last-letter",
    solutions,
    bySource: Map.groupBy(solutions.keys(), (place) => solutions[place].source),
  };
}

const settings = {
  samples: 1,
  seed: 0,
  max_response_length: 9,
  maximum_prompt_tokens: null,
  prompt_template: "p",
  chat: false,
  system_prompt: null,
  precision: "f32",
  cache_dtype: "f32",
  frozen_dtype: "auto",
};

const line = (verifier: string, source: string, critiques: BankCritique[][]): JudgedSource => ({
  ...{ step: 3, run: "runs/a", weights: "w", bank: "b", cut: 0, settings },
  ...{ verifier, source, critiques },
});

Deno.test("bank: a row for each verifier and source, and one over all that it has judged whole", () => {
  const bank = bankOf([
    solution(true, [true, true], "early"),
    solution(false, [false, true], "early"),
    solution(true, [true, true], 'late, "last"'),
    solution(false, [false, true], 'late, "last"'),
  ]);
  const right = [says(true, 0.8, [true, true])], wrong = [says(false, 0.1, [false, true])];
  const rows = bankRows(bank, [
    line("v1", "early", [right, wrong]),
    line("v2", "early", [wrong, wrong]),
    // The other way round.
    line("v1", 'late, "last"', [wrong, right]),
  ]);
  assert.deepEqual(
    rows.map(({ verifier, source, solutions, auroc, balanced_accuracy }) => [
      ...[verifier, source, solutions, auroc, balanced_accuracy],
    ]),
    [
      ["v1", "early", 2, 1, 1],
      ["v1", 'late, "last"', 2, 0, 0],
      // Pairs: 1, ½, ½, 0 of 4.
      ["v1", "all", 4, 0.5, 0.5],
      ["v2", "early", 2, 0.5, 0.5],
    ],
  );
  const cells: string[][] = parseCsv(rowsCsv(rows));
  assert.deepEqual(cells[0].slice(0, 8), [
    ...["verifier", "run", "step", "source", "solutions", "samples", "auroc", "balanced_accuracy"],
  ]);
  assert.deepEqual(cells[2].slice(0, 8), ["v1", "runs/a", "3", 'late, "last"', "2", "1", "0", "0"]);
  const tables = bankTables(bank, rows);
  assert.match(tables, /\| v1 +\| +50\.0 % \| +50\.0 % \|/);
  assert.match(tables, /\| v2 +\| +50\.0 % \| +– \|/);
});

Deno.test("bank: where no step label is known nothing is told of steps, not 0", () => {
  const bank = bankOf([solution(true, null), solution(false, null)]);
  const rows = bankRows(bank, [
    line("v", "early", [[says(true, 0.8, [true, true])], [says(false, 0.1, [true, false])]]),
  ]);
  assert.deepEqual(Object.keys(rows[0]).slice(6), [
    ...["auroc", "balanced_accuracy", "verdict_is_conjunction", "verdict_unparsed", "steps_equal"],
    "cut",
  ]);
  assert.doesNotMatch(rowsCsv(rows), /step_|first_error/);
  assert.doesNotMatch(bankTables(bank, rows), /steps in wrong|first error/);
});
