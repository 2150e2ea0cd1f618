import assert from "node:assert/strict";
import fc from "fast-check";
import { comparedMethods, planComparison } from "../../../src/run/compare/comparison.ts";
import { comparisonTable, drawComparison } from "../../../src/run/compare/comparison_report.ts";
import {
  type AccuracyCurve,
  courseOf,
  type MethodResult,
  spreadCurve,
  spreadOf,
} from "../../../src/run/compare/comparison_results.ts";
import { type TangoConfig, tangoConfigSchema } from "../../../src/run/config/config_schema.ts";
import { METRIC } from "../../../src/run/store/metric_names.ts";
import type { MetricsLine } from "../../../src/run/store/metrics_log.ts";
import { camelCased } from "../../../src/base/camel_cased.ts";
import { countGeneratorSteps } from "../../../src/rl/schedule/tango_schedule.ts";
import { alignedTable } from "../../../src/base/table.ts";

const configured = (
  schedule: Partial<TangoConfig["schedule"]> = {},
  verifier: object | null = {},
) =>
  tangoConfigSchema.parse({
    generator: { model: "weights/generator" },
    verifier: verifier && { model: "weights/verifier", ...verifier },
    schedule,
  });

Deno.test("comparison: every method does the same number of generator steps", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 4 }),
      fc.integer({ min: 0, max: 4 }),
      fc.integer({ min: 1, max: 4 }),
      fc.integer({ min: 0, max: 4 }),
      fc.integer({ min: 1, max: 40 }),
      (generatorWarmup, verifierWarmup, generator, verifier, more) => {
        const methods = comparedMethods(configured({
          generator_warmup_steps: generatorWarmup,
          verifier_warmup_steps: verifierWarmup,
          generator_steps: generator,
          verifier_steps: verifier,
          // Any number that leaves a generator step; few cut the warm-ups short.
          total_training_steps: (generatorWarmup > 0 ? 0 : verifierWarmup) + more,
        }));
        const [tango, alone, frozen] = methods.map(({ config }) => config);
        const stepsOf = ({ schedule }: TangoConfig) => countGeneratorSteps(camelCased(schedule));
        assert.equal(stepsOf(alone), stepsOf(tango));
        assert.equal(alone.schedule.total_training_steps, stepsOf(tango));
        assert.deepEqual(frozen.schedule, alone.schedule);
        assert.equal(alone.verifier, null);
        assert.equal(frozen.verifier?.trained, false);
      },
    ),
  );
});

Deno.test("comparison: all methods of a seed before the next seed, each in its folder", () => {
  const runs = planComparison(configured(), [4, 7], "runs/c");
  assert.deepEqual(runs.map(({ folder }) => folder.path), [
    "runs/c/tango-seed-4",
    "runs/c/alone-seed-4",
    "runs/c/frozen-verifier-seed-4",
    "runs/c/tango-seed-7",
    "runs/c/alone-seed-7",
    "runs/c/frozen-verifier-seed-7",
  ]);
  assert.deepEqual(runs.map(({ config }) => config.seed), [4, 4, 4, 7, 7, 7]);
});

Deno.test("comparison: what cannot be compared is refused", () => {
  for (
    const [config, message] of [
      [configured({}, null), /verifier is null.*verifier\.model/],
      [configured({}, { trained: false }), /verifier\.trained is false/],
      [configured({ test_frequency: 0 }), /test_frequency is 0/],
      [
        configured({ verifier_warmup_steps: 3, total_training_steps: 3 }),
        /3 steps hold no generator step/,
      ],
    ] as const
  ) assert.throws(() => comparedMethods(config), { name: "UserError", message });
});

const accuracy = METRIC.generatorAccuracy;
const evaluation = (step: number, value: number): MetricsLine => ({
  step,
  phase: "evaluation",
  [accuracy]: value,
});

Deno.test("courseOf: by generator steps; the last value of each, the first at the start", () => {
  const lines: MetricsLine[] = [
    evaluation(0, 0.1),
    { step: 1, phase: "verifier" },
    evaluation(1, 0.15),
    { step: 2, phase: "generator" },
    { step: 3, phase: "generator" },
    evaluation(3, 0.3),
    { step: 4, phase: "verifier" },
    evaluation(4, 0.4),
  ];
  assert.deepEqual(courseOf(lines, accuracy), {
    start: 0.1,
    end: 0.4,
    points: [[0, 0.1], [2, 0.4]],
  });
  assert.equal(courseOf(lines, METRIC.verifierBalancedAccuracy), null);
});

const course = (...values: number[]): AccuracyCurve => ({
  start: values[0],
  end: values[values.length - 1],
  points: values.map((value, index) => [10 * index, value]),
});

Deno.test("spread: mean and sample standard deviation, where all runs have a value", () => {
  assert.deepEqual(spreadOf([1, 3]), { mean: 2, deviation: Math.SQRT2 });
  assert.deepEqual(spreadOf([5]), { mean: 5, deviation: 0 });
  assert.deepEqual(spreadCurve([course(0, 1, 2), course(2, 1)]), [
    { step: 0, spread: { mean: 1, deviation: Math.SQRT2 } },
    { step: 10, spread: { mean: 1, deviation: 0 } },
  ]);
  assert.deepEqual(spreadCurve([]), []);
});

Deno.test("comparison: table and picture of two methods over two seeds", () => {
  const runs = planComparison(configured(), [0, 1], "runs/c");
  const [tango, alone] = runs.map(({ method }) => method);
  const result = (
    method: MethodResult["method"],
    generator: AccuracyCurve[],
    verifier: AccuracyCurve[],
  ): MethodResult => ({
    method,
    runs: runs.filter((run) => run.method === method).map((run, i) => ({
      run,
      generator: generator[i],
      verifier: verifier[i] ?? null,
    })),
  });
  const results = [
    result(tango, [course(0.5, 0.8), course(0.5, 0.9)], [course(0.6, 0.7), course(0.6, 0.7)]),
    result(alone, [course(0.5, 0.7), course(0.5, 0.7)], []),
  ];
  assert.equal(
    comparisonTable(results),
    `
|                 | runs | generator accuracy | verifier balanced accuracy |
| --------------- | ---: | -----------------: | -------------------------: |
| warm start      |    4 |       50.0 ± 0.0 % |               60.0 ± 0.0 % |
| RL Tango (GRPO) |    2 |       85.0 ± 7.1 % |               70.0 ± 0.0 % |
| GRPO alone      |    2 |       70.0 ± 0.0 % |                          – |
`.trim(),
  );
  const svg = drawComparison(results);
  assert.match(svg, /^<svg[^]*<\/svg>\s*$/);
  assert.match(svg, /mean over 2 seeds, band: ± one standard deviation/);
});

Deno.test("alignedTable: the first column to the left, the others to the right", () => {
  assert.equal(
    alignedTable([["name", "value"], ["é", "1"]]),
    "| name | value |\n| ---- | ----: |\n| é    |     1 |",
  );
});
