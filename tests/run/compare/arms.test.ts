import assert from "node:assert/strict";
import { join } from "node:path";
import fc from "fast-check";
import { camelCased } from "../../../src/base/camel_cased.ts";
import { DEFAULT_CONFIG } from "../../../src/cli/run_options.ts";
import { countGeneratorSteps, stepsToReach } from "../../../src/rl/schedule/tango_schedule.ts";
import { type Arm, DEFAULT_ARMS, loadArms } from "../../../src/run/compare/arms.ts";
import { planComparison, requireModels } from "../../../src/run/compare/comparison.ts";
import { type TangoConfig, tangoConfigSchema } from "../../../src/run/config/config_schema.ts";
import { loadBaseConfig } from "../../../src/run/config/load_config.ts";

const configured = (
  schedule: Partial<TangoConfig["schedule"]> = {},
  verifier: object | null = {},
) =>
  tangoConfigSchema.parse({
    generator: { model: "weights/generator" },
    verifier: verifier && { model: "weights/verifier", ...verifier },
    schedule,
  });

/** Arms of a text, as if it were a file. */
function armsOf(text: string, base = configured()): Arm[] {
  const folder = Deno.makeTempDirSync();
  try {
    const file = join(folder, "arms.yaml");
    Deno.writeTextFileSync(file, text);
    return loadArms(file, base);
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
}

const generatorStepsOf = ({ schedule }: TangoConfig) => countGeneratorSteps(camelCased(schedule));

Deno.test("arms: an arm is the configuration with its settings laid over it, at every depth", () => {
  const base = configured({}, { optimizer: { learning_rate: 0.5 } });
  const [plain, changed] = armsOf(
    "arms:\n  plain: {}\n  changed: { advantage: { alpha: { initial: 0.3 } }, verifier: { trained: false } }\n",
    base,
  );
  assert.deepEqual(plain.config, base);
  assert.deepEqual(changed.config.advantage, {
    ...base.advantage,
    alpha: { ...base.advantage.alpha, initial: 0.3 },
  });
  assert.equal(changed.config.verifier?.trained, false);
  assert.equal(changed.config.verifier?.optimizer.learning_rate, 0.5);
  assert.deepEqual(changed.config.generator, base.generator);
});

Deno.test("arms: those that ship do as many generator steps as the configuration, whatever it is", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 4 }),
      fc.integer({ min: 0, max: 4 }),
      fc.integer({ min: 1, max: 4 }),
      fc.integer({ min: 0, max: 4 }),
      fc.integer({ min: 1, max: 40 }),
      (generatorWarmup, verifierWarmup, generator, verifier, more) => {
        const base = configured({
          generator_warmup_steps: generatorWarmup,
          verifier_warmup_steps: verifierWarmup,
          generator_steps: generator,
          verifier_steps: verifier,
          // Any number that leaves a generator step; few cut the warm-ups short.
          total_training_steps: (generatorWarmup > 0 ? 0 : verifierWarmup) + more,
        });
        const [tango, alone, frozen] = loadArms(DEFAULT_ARMS, base).map(({ config }) => config);
        assert.deepEqual(tango, base);
        assert.equal(generatorStepsOf(alone), generatorStepsOf(tango));
        assert.equal(alone.schedule.total_training_steps, generatorStepsOf(tango));
        assert.deepEqual(frozen.schedule, alone.schedule);
        assert.equal(alone.verifier, null);
        assert.equal(frozen.verifier?.trained, false);
      },
    ),
  );
});

Deno.test("stepsToReach: the fewest training steps that hold the generator steps", () => {
  fc.assert(
    fc.property(
      fc.record({
        generatorWarmupSteps: fc.nat(4),
        verifierWarmupSteps: fc.nat(4),
        generatorSteps: fc.integer({ min: 1, max: 4 }),
        verifierSteps: fc.nat(4),
        testFrequency: fc.constant(1),
        saveFrequency: fc.constant(1),
      }),
      fc.integer({ min: 1, max: 30 }),
      (schedule, steps) => {
        const total = stepsToReach(schedule, steps) ?? 0;
        const within = (totalTrainingSteps: number) =>
          countGeneratorSteps({ ...schedule, totalTrainingSteps });
        assert.equal(within(total), steps);
        assert.equal(within(total - 1), steps - 1);
      },
    ),
  );
  const never = { generatorWarmupSteps: 1, verifierWarmupSteps: 0, generatorSteps: 0 };
  const rest = { verifierSteps: 1, testFrequency: 1, saveFrequency: 1 };
  assert.equal(stepsToReach({ ...never, ...rest }, 2), null);
});

Deno.test("arms: steps of its own, a total of its own, or the verifier's alone", () => {
  const schedule = { generator_steps: 2, verifier_steps: 1, total_training_steps: 12 };
  const arms = armsOf(
    `arms:
  tango: {}
  long: { verifier: null, steps: 20 }
  longer-tango: { steps: 9 }
  total: { schedule: { total_training_steps: 5 } }
  frozen-generator: { schedule: { generator_steps: 0 } }
`,
    configured(schedule),
  );
  const totals = arms.map(({ config }) => config.schedule.total_training_steps);
  // Nine generator steps in twos: four whole cycles of three, and one more.
  assert.deepEqual(totals, [12, 20, 13, 5, 4]);
  assert.deepEqual(arms.map(({ config }) => generatorStepsOf(config)), [8, 20, 9, 4, 0]);
});

Deno.test("arms: a model may be that of another arm's run of the same seed", () => {
  const arms = armsOf(
    'arms:\n  tango: {}\n  after: { verifier: { model: "{tango}/verifier", trained: false } }\n',
  );
  assert.deepEqual(arms.map(({ needs }) => needs), [[], ["tango"]]);
  const runs = planComparison(arms, [4, 7], "runs/c");
  assert.deepEqual(runs.map(({ config }) => config.verifier?.model), [
    "weights/verifier",
    "runs/c/tango-seed-4/verifier",
    "weights/verifier",
    "runs/c/tango-seed-7/verifier",
  ]);
});

Deno.test("comparison: all arms of a seed before the next seed, each in its folder", () => {
  const runs = planComparison(loadArms(DEFAULT_ARMS, configured()), [4, 7], "runs/c");
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

Deno.test("arms: what cannot be compared is refused, with its place", () => {
  for (
    const [text, message] of [
      ["arms: {}", /must hold arms/],
      ["arm: { tango: {} }", /must hold arms/],
      ["arms: { tango: {} }\nseeds: 3", /must hold arms/],
      ["arms:\n  tango: {}\n  same: {}", /arms\.yaml:3: arms tango and same come to the same/],
      ["arms:\n  a b: {}", /arms\.yaml:2: arm a b: found "a b", expected a name/],
      ["arms:\n  a: 3", /arms\.yaml:2: arm a: found 3, expected settings/],
      ["arms:\n  a: { advantge: {} }", /arms\.yaml:2: arm a: advantge/],
      ["arms:\n  a: { rollout: { group_size: 0 } }", /arm a: rollout\.group_size is 0/],
      ["arms:\n  a:\n    seed: 3", /arms\.yaml:3: arm a: seed is the same for all arms/],
      ["arms:\n  a: { evaluation: { problems: 3 } }", /evaluation is the same for all arms/],
      ["arms:\n  a: { task: { name: arithmetic } }", /task is the same for all arms/],
      ["arms:\n  a: { precision: f16 }", /precision is the same for all arms/],
      ["arms:\n  a: { steps: 0 }", /arm a: steps is 0, expected a whole number/],
      ["arms:\n  a: { steps: 3, schedule: { total_training_steps: 4 } }", /both say when to end/],
      ["arms:\n  a: { steps: 3, schedule: { generator_steps: 0 } }", /holds no generator step/],
      ["arms:\n  a: { schedule: { test_frequency: 0 } }", /test_frequency is 0/],
      ['arms:\n  a: { generator: { model: "{b}/generator" } }', /no arm "b" stands before it/],
    ] as const
  ) assert.throws(() => armsOf(text), { name: "UserError", message }, text);
  for (
    const [config, message] of [
      [configured({}, null), /tango and alone come to the same.*verifier is null/],
      [configured({}, { trained: false }), /verifier\.trained is false/],
      [configured({ test_frequency: 0 }), /test_frequency is 0/],
      [
        configured({ verifier_warmup_steps: 3, total_training_steps: 3 }),
        /3 steps hold no generator step/,
      ],
    ] as const
  ) assert.throws(() => loadArms(DEFAULT_ARMS, config), { name: "UserError", message });
});

Deno.test("arms: weights that are not there are said before any run", () => {
  assert.throws(() => requireModels(armsOf("arms: { only: {} }")), {
    name: "UserError",
    message: /arm only: there are no weights at weights\/generator/,
  });
});

Deno.test("arms: every shipped file goes with the default configuration", () => {
  const base = loadBaseConfig(DEFAULT_CONFIG);
  const files = [...Deno.readDirSync("configs/arms")].map(({ name }) => join("configs/arms", name));
  assert.ok(files.includes(DEFAULT_ARMS));
  for (const file of files) requireModels(loadArms(file, base));
});
