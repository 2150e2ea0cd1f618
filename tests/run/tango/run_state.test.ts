import assert from "node:assert/strict";
import { join } from "node:path";
import { alone } from "../../../src/distributed/communicator.ts";
import { onEveryRank } from "../../../src/distributed/placed.ts";
import { Sampler } from "../../../src/engine/sampling/sampler.ts";
import { SampledAhead } from "../../../src/rl/sampled_ahead.ts";
import type { Gpu } from "../../../src/gpu/gpu.ts";
import { characterTokenizer, characterTokenizerConfig } from "../../../src/data/vocabulary.ts";
import { RandomStream } from "../../../src/random/philox.ts";
import type { ModelConfig } from "../../../src/model/decoder/config.ts";
import { Tokenizer } from "../../../src/model/tokenizer/tokenizer.ts";
import type { Policy } from "../../../src/rl/policy.ts";
import { generatorTemplate, verifierTemplate } from "../../../src/rl/prompt_template.ts";
import { type Policies, releasePolicies } from "../../../src/run/tango/policies.ts";
import {
  type LoopState,
  restoreState,
  saveState,
  type StoredCourse,
} from "../../../src/run/loop/loop_state.ts";
import {
  modelKey,
  type TangoState,
  tangoStateSchema,
  trainedModels,
} from "../../../src/run/tango/tango_state.ts";
import { onEveryGpu } from "../../kernels/harness.ts";
import { tinyModel, tinyTrainer } from "../../model/tiny_model.ts";

function policy<Template>(
  gpu: Gpu,
  template: Template,
  seed: number,
  { trained = true, config }: { trained?: boolean; config?: Partial<ModelConfig> } = {},
): Policy<Template> {
  const model = tinyModel(gpu, { seed, trained, config });
  return {
    tokenizer: Tokenizer.fromJson(
      { ...characterTokenizer() },
      { ...characterTokenizerConfig() },
      "tokenizer.json",
    ),
    template,
    stopTokens: [2],
    maximumResponse: 8,
    maximumPrompt: null,
    config: model.config,
    parameterCount: model.parameterCount,
    isTrained: trained,
    engine: onEveryRank(alone, {
      model,
      sampler: new Sampler(model, { slots: 4, stepsBetweenReadbacks: 4 }),
      trainer: trained ? tinyTrainer(model) : null,
      ahead: new SampledAhead(),
      reference: null,
      hostReference: null,
    }),
  };
}

interface Kind {
  readonly seed: number;
  readonly verifier?: "trained" | "frozen" | null;
  readonly config?: Partial<ModelConfig>;
}

function policiesOf(gpu: Gpu, { seed, verifier = "trained", config }: Kind): Policies {
  return {
    generator: policy(gpu, generatorTemplate("configs/prompts/generator.txt"), seed, { config }),
    verifier: verifier && policy(gpu, verifierTemplate("configs/prompts/verifier.txt"), seed + 1, {
      trained: verifier === "trained",
    }),
  };
}

/** Every number of a policy that a step changes. */
async function content({ engine: { here } }: Policy<unknown>) {
  assert.ok(here);
  const { model, trainer } = here;
  return {
    weights: await model.parameters.read(),
    moments: await model.gpu.readAll(trainer?.optimizer.state.moments ?? []),
    step: trainer?.optimizer.step,
  };
}

function fillOptimizer({ engine: { here } }: Policy<unknown>, step: number): void {
  assert.ok(here?.trainer);
  const { model, trainer } = here;
  const random = new RandomStream(step, 95);
  for (const moments of trainer.optimizer.state.moments) {
    const { size } = moments;
    model.gpu.write(moments, Float32Array.from({ length: size }, random.uniform, random));
  }
  trainer.optimizer.step = step;
}

type RunState = TangoState & LoopState;

function courseOf(policies: Policies, step: number): StoredCourse & { own?: TangoState } {
  return {
    ranks: alone,
    step,
    models: trainedModels(policies),
    modelKey,
    adopt(checkpoint) {
      this.own = checkpoint.state(tangoStateSchema);
    },
  };
}

async function saveRunState(folder: string, policies: Policies, state: RunState, keep: number) {
  const { position, classCounts, judgmentQuality, stepCounts, pool, problemPosition, ...kept } =
    state;
  const own = {
    position: { ...position },
    classCounts: classCounts && { ...classCounts },
    judgmentQuality: judgmentQuality && { ...judgmentQuality },
    stepCounts: stepCounts?.map((counts) => ({ ...counts })) ?? null,
    pool: pool.map((one) => ({ ...one })),
    problemPosition,
  };
  return await saveState(folder, courseOf(policies, position.globalSteps), { own, kept }, keep);
}

async function loadRunState(path: string, policies: Policies) {
  const course = courseOf(policies, 0);
  const kept = await restoreState(path, course);
  return { ...course.own, ...kept };
}

const state: RunState = {
  position: { globalSteps: 7, generatorSteps: 5, verifierSteps: 2, cycleSteps: 3 },
  classCounts: { positive: 2.0000000000000004, negative: 0.1 + 0.2 },
  judgmentQuality: { right: 3.2, rightPassed: 0.1 + 0.2, wrong: 7, wrongFlagged: 1 / 3 },
  stepCounts: [{ positive: 0.1 + 0.2, negative: 5 }],
  pool: [],
  problemPosition: 17,
  best: { step: 3, value: 0.5 },
  skippedInARow: { verifier: 2 },
  chain: "a".repeat(64),
  device: {
    adapter: "Radeon",
    engine: "dawn",
    bits: "chain",
    cache: "f32",
    variants: { gemm: { "few rows": "tiled" } },
  },
};

async function withFolder(body: (folder: string) => Promise<void>): Promise<void> {
  const folder = Deno.makeTempDirSync();
  try {
    await body(folder);
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
}

onEveryGpu("run state: weights, moments, counters and averages come back", async (gpu) => {
  await withFolder(async (folder) => {
    const saved = policiesOf(gpu, { seed: 1 });
    const loaded = policiesOf(gpu, { seed: 5 });
    assert.ok(saved.verifier && loaded.verifier);
    fillOptimizer(saved.generator, 5);
    fillOptimizer(saved.verifier, 2);
    const path = await saveRunState(folder, saved, state, 1);
    assert.deepEqual(await loadRunState(path, loaded), state);
    assert.deepEqual(await content(loaded.generator), await content(saved.generator));
    assert.deepEqual(await content(loaded.verifier), await content(saved.verifier));
    assert.notDeepEqual(
      (await content(saved.generator)).weights,
      (await content(saved.verifier)).weights,
    );
    for (const policies of [saved, loaded]) releasePolicies(policies);
  });
});

onEveryGpu("run state: a frozen verifier and no verifier at all", async (gpu) => {
  for (const verifier of ["frozen", null] as const) {
    await withFolder(async (folder) => {
      const saved = policiesOf(gpu, { seed: 1, verifier });
      const loaded = policiesOf(gpu, { seed: 5, verifier });
      const before = loaded.verifier && await content(loaded.verifier);
      const without = { ...state, classCounts: null };
      const path = await saveRunState(folder, saved, without, 1);
      assert.deepEqual(await loadRunState(path, loaded), without);
      assert.deepEqual(await content(loaded.generator), await content(saved.generator));
      // What is not trained is loaded from its own folder, not from the checkpoint.
      assert.deepEqual(loaded.verifier && await content(loaded.verifier), before);
      for (const policies of [saved, loaded]) releasePolicies(policies);
    });
  }
});

onEveryGpu("run state: a state that lacks something is refused by name", async (gpu) => {
  await withFolder(async (folder) => {
    const policies = policiesOf(gpu, { seed: 1, verifier: null });
    const path = await saveRunState(folder, policies, state, 1);
    const file = join(path, "state.json");
    const { sha256: _, ...facts } = JSON.parse(Deno.readTextFileSync(file));
    const { optimizerSteps: __, ...without } = facts.state;
    const damaged: [unknown, RegExp][] = [
      [without, /state\.json is not a state of such a run \(optimizerSteps: /],
      [null, /state\.json is not a state of such a run \(the whole: /],
      [{ ...facts.state, optimizerSteps: {} }, /generator's weights/],
      [{ ...facts.state, position: { globalSteps: -1 } }, /position\.globalSteps/],
    ];
    for (const [changed, message] of damaged) {
      Deno.writeTextFileSync(file, JSON.stringify({ ...facts, state: changed }));
      await assert.rejects(loadRunState(path, policies), { name: "UserError", message });
    }
    releasePolicies(policies);
  });
});

onEveryGpu("run state: a checkpoint of another model is refused", async (gpu) => {
  await withFolder(async (folder) => {
    const saved = policiesOf(gpu, { seed: 1 });
    const other = policiesOf(gpu, { seed: 1, config: { layers: 3 } });
    const path = await saveRunState(folder, saved, state, 1);
    await assert.rejects(loadRunState(path, other), (error: Error) => {
      assert.equal(error.name, "UserError");
      assert.match(error.message, /generator's weights do not have the size.*generator\.model/);
      assert.ok(error.message.includes(path));
      return true;
    });
    const alone = policiesOf(gpu, { seed: 1, verifier: null });
    const pathAlone = await saveRunState(folder, alone, state, 1);
    await assert.rejects(loadRunState(pathAlone, saved), {
      name: "UserError",
      message: /verifier/,
    });
    for (const policies of [saved, other, alone]) releasePolicies(policies);
  });
});
