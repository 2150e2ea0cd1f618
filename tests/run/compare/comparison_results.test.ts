import assert from "node:assert/strict";
import { alignedTable } from "../../../src/base/table.ts";
import { byArm } from "../../../src/run/compare/arm_rows.ts";
import type { Arm } from "../../../src/run/compare/arms.ts";
import { drawComparison, spreadCurve } from "../../../src/run/compare/comparison_chart.ts";
import { csvOf } from "../../../src/run/compare/comparison_csv.ts";
import {
  comparisonTable,
  efficiencySection,
  verifierTable,
} from "../../../src/run/compare/comparison_tables.ts";
import {
  commonBudgets,
  differencesTo,
  efficiencyOf,
  reachOf,
  readRow,
  spreadOf,
} from "../../../src/run/compare/comparison_results.ts";
import {
  byGeneratorSteps,
  readEvaluations,
  type RunRow,
} from "../../../src/run/compare/run_row.ts";
import { tangoConfigSchema } from "../../../src/run/config/config_schema.ts";
import { METRIC } from "../../../src/run/store/metric_names.ts";
import type { MetricsLine } from "../../../src/run/store/metrics_log.ts";

const evaluation = (step: number, value: number, verdicts?: number): MetricsLine => ({
  step,
  phase: "evaluation",
  [METRIC.generatorAccuracy]: value,
  ...(verdicts === undefined ? {} : { [METRIC.verifierBalancedAccuracy]: verdicts }),
});

Deno.test("rows: each evaluation after its steps and their seconds, which evaluations add nothing to", () => {
  const lines: MetricsLine[] = [
    evaluation(0, 0.1, 0.5),
    { step: 1, phase: "verifier" },
    evaluation(1, 0.15, 0.6),
    { step: 2, phase: "generator" },
    { step: 3, phase: "generator" },
    evaluation(3, 0.3),
    { step: 4, phase: "verifier" },
    evaluation(4, 0.4, 0.7),
  ];
  const spent = (seconds: number, tokens: number | null) => ({ seconds, tokens });
  const timings = new Map([
    [1, spent(8, 100)],
    [2, spent(2, 10)],
    [3, spent(4, 20)],
    [4, spent(16, null)],
  ]);
  const read = readEvaluations(lines, timings, "timings.jsonl");
  assert.deepEqual(
    read.evaluations.map(({ step, generatorSteps, seconds, tokens, accuracy, verdicts, steps }) => [
      step,
      generatorSteps,
      seconds,
      tokens,
      accuracy,
      verdicts,
      steps,
    ]),
    [
      [0, 0, 0, 0, 0.1, 0.5, null],
      [1, 0, 8, 100, 0.15, 0.6, null],
      [3, 2, 14, 130, 0.3, null, null],
      // One step that does not tell its tokens leaves those of all after it unknown.
      [4, 2, 30, null, 0.4, 0.7, null],
    ],
  );
  assert.deepEqual([read.steps, read.generatorSteps, read.seconds], [4, 2, 30]);
  // By generator steps the last value of each counts, and the first at the start.
  assert.deepEqual(byGeneratorSteps({ ...row("a", 0, []), ...read }), [[0, 0.1], [2, 0.4]]);
  assert.throws(() => readEvaluations(lines, new Map([[1, spent(8, 1)]]), "timings.jsonl"), {
    name: "UserError",
    message: /timings\.jsonl holds no seconds of step 2/,
  });
});

/** A run evaluated after every ten generator steps, each of which took so many seconds. */
function row(arm: string, seed: number, values: readonly number[], pace = 1): RunRow {
  const steps = 10 * (values.length - 1);
  return {
    ...{ arm, seed, problems: 8, device: "d", program: null, chain: null },
    ...{ steps, generatorSteps: steps, seconds: pace * steps },
    evaluations: values.map((accuracy, i) => ({
      ...{ step: 10 * i, generatorSteps: 10 * i, seconds: 10 * i * pace, accuracy },
      tokens: 1000 * i * pace,
      sound: arm === "tango" ? accuracy - 0.1 : null,
      verdicts: arm === "tango" ? 0.5 + 0.1 * i : null,
      steps: null,
      ...{ stepAurocInWrong: null, firstError: null, consistency: null },
    })),
  };
}

/** Tango takes two seconds for a step, and the generator alone one, for twice as many. */
const rows = [
  row("tango", 0, [0.4, 0.5, 0.8], 2),
  row("alone", 0, [0.4, 0.4, 0.5, 0.6, 0.6]),
  row("tango", 1, [0.4, 0.7, 0.9], 2),
  row("alone", 1, [0.4, 0.5, 0.7, 0.7, 0.8]),
];

const near = (found: number | undefined, expected: number) =>
  assert.ok(Math.abs((found ?? NaN) - expected) < 1e-12, `${found} instead of ${expected}`);

Deno.test("budgets: where the first run to end had come to, in steps and in seconds", () => {
  const budgets = commonBudgets(rows);
  assert.deepEqual(budgets, { generatorSteps: 20, seconds: 40 });
  const [tango, alone] = rows.map((row) => readRow(row, budgets));
  assert.equal(alone.end.value, 0.6);
  assert.equal(alone.atSteps?.value, 0.5);
  assert.equal(alone.atSeconds?.value, 0.6);
  assert.equal(tango.atSeconds?.value, 0.8);
  near(alone.atSteps?.lastFive, (0.4 + 0.4 + 0.5) / 3);
  // 0.4 over the first ten steps, 0.45 over the next.
  near(alone.atSteps?.area, 0.425);
  assert.equal(readRow(rows[0], { generatorSteps: 30, seconds: 50 }).atSteps, null);
  const still = row("still", 0, [0.4]);
  assert.deepEqual(commonBudgets([still]), { generatorSteps: null, seconds: null });
  assert.deepEqual(commonBudgets([...rows, still]), budgets, "no generator steps to wait for");
});

Deno.test("efficiency: what each arm takes to the baseline's final accuracy, of what that took", () => {
  const [tango, never] = efficiencyOf("alone", [...rows, row("late", 0, [0.4, 0.5])]);
  assert.deepEqual([tango.arm, tango.pairs, tango.shares.length], ["tango", 2, 2]);
  // Seed 0: 0.6 lies a third of the way from 0.5 to 0.8; the other took 40 steps and seconds, and 4000 tokens.
  near(tango.shares[0].steps, (10 + 10 / 3) / 40);
  near(tango.shares[0].seconds, 2 * (10 + 10 / 3) / 40);
  near(tango.shares[0].tokens ?? NaN, 2 * (10 + 10 / 3) / 40);
  assert.deepEqual([never.arm, never.pairs, never.shares.length], ["late", 1, 0]);
  const section = efficiencySection([tango, never], "alone");
  assert.match(section, /## To the final accuracy of alone/);
  assert.match(section, /\| tango +\| +2 of 2 +\| +35\.4 ± 2\.9 % +\| +70\.8 ± 5\.9 %/);
  assert.match(section, /\| late +\| +0 of 1 +\| +– +\| +– +\| +– +\|/);
  assert.equal(efficiencySection(efficiencyOf("nobody", rows), "nobody"), "");
});

Deno.test("verifiers: what a run's own measured at its end is in its row, and in a table of the arms that have one", () => {
  const measured: MetricsLine = {
    ...evaluation(0, 0.5, 0.8),
    [METRIC.verifierStepBalancedAccuracy]: 0.75,
    [METRIC.verifierStepAurocInWrong]: 0.912,
    [METRIC.verifierFirstError]: 0.6,
    [METRIC.verifierConsistency]: 1,
  };
  const { evaluations } = readEvaluations([evaluation(0, 0.4, 0.5), measured], new Map(), "");
  const judged = { ...row("tango", 0, [0.4]), evaluations };
  const table = verifierTable(byArm({ arms: [arm("tango"), arm("alone")] }, [judged, rows[1]]));
  assert.match(
    table,
    /\| tango +\| +1 +\| +80\.0 % +\| +75\.0 % +\| +0\.912 +\| +60\.0 % +\| +100\.0 % +\|/,
  );
  assert.doesNotMatch(table, /alone/);
  assert.equal(verifierTable(byArm({ arms: [arm("alone")] }, [rows[1]])), "");
  const [head, line] = csvOf([judged], null).split("\n").map((text) => text.split(","));
  assert.deepEqual(
    ["step_auroc_in_wrong", "first_error_accuracy", "verdict_is_conjunction"].map((name) =>
      line[head.indexOf(name)]
    ),
    ["0.912", "0.6", "1"],
  );
});

Deno.test("the last five by seconds: what verifier steps alone lie before is one measurement", () => {
  const six = row("tango", 0, [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6]);
  const last = six.evaluations[6];
  // A verifier step of five seconds at the end, and an evaluation after it.
  const ended = { ...six, evaluations: [...six.evaluations, { ...last, step: 61, seconds: 65 }] };
  for (const budget of [60, 63, 65]) {
    const { atSeconds } = readRow(ended, { generatorSteps: 60, seconds: budget });
    near(atSeconds?.lastFive, (0.2 + 0.3 + 0.4 + 0.5 + 0.6) / 5);
    assert.equal(atSeconds?.value, 0.6);
  }
  near(
    readRow(ended, { generatorSteps: 60, seconds: 55 }).atSeconds?.lastFive,
    (0.2 + 0.3 + 0.4 + 0.5 + 0.55) / 5,
  );
});

Deno.test("reach: steps and seconds at which the accuracy is there first, and none where it never is", () => {
  near(reachOf(rows[0], 0.65)?.steps, 15);
  near(reachOf(rows[0], 0.65)?.seconds, 30);
  assert.equal(reachOf(rows[1], 0.65), null);
});

Deno.test("differences: an arm minus the baseline, seed by seed, each pair where the shorter one ended", () => {
  const found = differencesTo("alone", [...rows, row("tango", 2, [0.4, 0.9], 2)]);
  const of = (measure: string) => found.find((one) => one.measure === measure);
  // Seed 2 has no partner. 0.8 − 0.5 and 0.9 − 0.7 after 20 steps; 0.8 − 0.6 and 0.9 − 0.8 after 40 seconds.
  near(of("accuracy at equal generator steps")?.mean, 0.25);
  near(of("accuracy at equal training seconds")?.mean, 0.15);
  near(of("final accuracy, each run at its own end")?.mean, 0.15);
  // Trapezoids to 20 steps: (0.45 + 0.65) / 2 − (0.4 + 0.45) / 2 and (0.55 + 0.8) / 2 − (0.45 + 0.6) / 2.
  near(of("area under the curve to equal generator steps")?.mean, (0.125 + 0.15) / 2);
  assert.deepEqual(new Set(found.map(({ arm, pairs }) => `${arm} ${pairs}`)), new Set(["tango 2"]));
  const { t, mean } = of("accuracy at equal generator steps") ?? {};
  // s = 0.1/√2, s/√2 = 0.05, t(0.95, 1) = 12.706…
  near(t?.[1], (mean ?? NaN) + 0.05 * 12.706204736174694);
  assert.deepEqual(differencesTo("alone", rows.slice(0, 1)), []);
});

Deno.test("spread: mean and sample standard deviation, where all runs have a value", () => {
  assert.deepEqual(spreadOf([1, 3]), { mean: 2, deviation: Math.SQRT2 });
  assert.deepEqual(spreadOf([5]), { mean: 5, deviation: 0 });
  assert.deepEqual(spreadCurve([[[0, 0], [10, 1], [20, 2]], [[0, 2], [12, 1]]]), [
    { x: 0, spread: { mean: 1, deviation: Math.SQRT2 } },
    { x: 11, spread: { mean: 1, deviation: 0 } },
  ]);
  assert.deepEqual(spreadCurve([]), []);
});

const config = tangoConfigSchema.parse({ generator: { model: "g" }, verifier: null });
const arm = (name: string): Arm => ({ name, patch: {}, config, needs: [] });

Deno.test("comparison: table and picture of two arms over two seeds", () => {
  const arms = byArm({ arms: [arm("tango"), arm("alone"), arm("to-come")] }, rows);
  assert.equal(
    comparisonTable(arms),
    `
|            | runs | generator accuracy | verifier balanced accuracy |
| ---------- | ---: | -----------------: | -------------------------: |
| warm start |    4 |       40.0 ± 0.0 % |               50.0 ± 0.0 % |
| tango      |    2 |       85.0 ± 7.1 % |               70.0 ± 0.0 % |
| alone      |    2 |      70.0 ± 14.1 % |                          – |
`.trim(),
  );
  // An arm that begins with another's weights says nothing of the start.
  const after = { arm: { ...arm("after"), needs: ["tango"] }, rows: [row("after", 0, [0.8, 0.9])] };
  assert.match(comparisonTable([...arms, after]), /warm start \| +4 \| +40\.0 ± 0\.0 %/);
  const svg = drawComparison(arms);
  assert.match(svg, /^<svg[^]*<\/svg>\s*$/);
  assert.match(svg, /mean over 2 seeds, band: ± one standard deviation/);
  assert.match(svg, /minutes of training/);
  assert.doesNotMatch(svg, /step judgments/, "no run has any");
});

Deno.test("comparison: the names of many arms stand in lines above their curves", () => {
  const many = Array.from({ length: 14 }, (_, i) => `an arm with a name ${i}`);
  const arms = byArm({ arms: many.map(arm) }, many.map((name) => row(name, 0, [0.1, 0.2])));
  const heightOf = (svg: string) => Number(/height="(\d+)"/.exec(svg)?.[1]);
  assert.ok(heightOf(drawComparison(arms)) > heightOf(drawComparison(arms.slice(0, 2))));
});

Deno.test("rows.csv: a line for each run, cells without a value empty", () => {
  const [head, tango, alone] = csvOf(rows, 0.65).split("\n").map((line) => line.split(","));
  assert.deepEqual(head.slice(0, 3), ["arm", "seed", "problems"]);
  assert.deepEqual(tango.slice(0, 8), ["tango", "0", "8", "20", "20", "40", "0.4", "0.8"]);
  assert.deepEqual(alone.slice(11), Array(head.length - 11).fill(""));
  const sound = head.indexOf("final_sound_accuracy");
  assert.deepEqual([Number(tango[sound]).toFixed(3), alone[sound]], ["0.700", ""]);
  assert.equal(tango[head.indexOf("verdict_balanced_accuracy")], "0.7");
});

Deno.test("alignedTable: the first column to the left, the others to the right", () => {
  assert.equal(
    alignedTable([["name", "value"], ["é", "1"]]),
    "| name | value |\n| ---- | ----: |\n| é    |     1 |",
  );
});
