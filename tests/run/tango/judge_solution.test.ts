import assert from "node:assert/strict";
import { join } from "node:path";
import { UserError } from "../../../src/base/user_error.ts";
import { rollout } from "../../../src/engine/sampling/rollout.ts";
import { Sampler } from "../../../src/engine/sampling/sampler.ts";
import type { Gpu } from "../../../src/gpu/gpu.ts";
import { loadModelFolder } from "../../../src/model/weights/model_folder.ts";
import { streams } from "../../../src/random/philox.ts";
import { generatorTemplate, verifierTemplate } from "../../../src/rl/prompt_template.ts";
import { loadTangoConfig } from "../../../src/run/config/load_config.ts";
import { checkJudgingMemory, planJudgingMemory } from "../../../src/run/memory/judging_memory.ts";
import { trainWithReport } from "../../../src/run/session/training_session.ts";
import { latestCheckpoint } from "../../../src/run/store/checkpoint.ts";
import { RunFolder } from "../../../src/run/store/run_folder.ts";
import { StoredCheckpoint } from "../../../src/run/store/stored_checkpoint.ts";
import { judgeSolution } from "../../../src/run/tango/judge_solution.ts";
import { onEveryGpu } from "../../kernels/harness.ts";
import { withTinyProject } from "../tiny_project.ts";

/** The likeliest answer of the weights in a folder. */
async function likeliest(gpu: Gpu, folder: string, text: string): Promise<string> {
  const { model, tokenizer, stopTokens } = await loadModelFolder(gpu, folder, { trained: false });
  const sampler = new Sampler(model, { slots: 4, stepsBetweenReadbacks: 16 });
  try {
    const request = { prompt: tokenizer.encode(text), sequenceIds: [0] };
    const [[{ tokens }]] = await rollout(sampler, [request], {
      temperature: 0,
      topK: 0,
      topP: 1,
      minP: 0,
      seed: 0,
      stream: streams.evaluation,
      step: 0,
      stopTokens,
      maximumResponse: 10,
    });
    return tokenizer.decode(tokens);
  } finally {
    sampler.close();
    model.release();
  }
}

onEveryGpu("verify: what was trained is loaded without memory for training it", async (gpu) => {
  await withTinyProject(gpu, async ({ generator }) => {
    const held = async (options: { trained: boolean; gradients?: boolean }) => {
      const before = gpu.pool.liveBytes;
      const { model } = await loadModelFolder(gpu, generator, options);
      const bytes = gpu.pool.liveBytes - before;
      model.release();
      return bytes;
    };
    const asked = await held({ trained: true, gradients: false });
    assert.equal(asked, await held({ trained: false }));
    assert(asked < await held({ trained: true }));
  });
});

onEveryGpu(
  "verify: a checkpoint's policies say what the weights that the run left say",
  async (gpu) => {
    await withTinyProject(gpu, async ({ folder, config: file, generator }) => {
      const config = loadTangoConfig(file, {
        set: [
          // So large that the trained weights answer otherwise than those they came from.
          "generator.optimizer.learning_rate=0.2",
          "verifier.optimizer.learning_rate=0.2",
        ],
      });
      const run = RunFolder.at(join(folder, "run"));
      await trainWithReport(gpu, config, run.path, { resume: false });
      const place = latestCheckpoint(run.checkpoints);
      assert(place !== null);
      const checkpoint = new StoredCheckpoint(place.path);
      const told = { solution: "", critique: "" };
      const options = {
        problem: "cat dog",
        solution: null,
        temperature: 0,
        seed: 0,
        onText: (kind: keyof typeof told, piece: string) => void (told[kind] += piece),
      };
      const bytes = gpu.pool.liveBytes;
      gpu.pool.peakBytes = bytes;
      const judged = await judgeSolution(gpu, config, checkpoint, options);
      assert.equal(gpu.pool.liveBytes, bytes);
      const { peakBytes: planned } = await planJudgingMemory(gpu, config, checkpoint, options);
      const taken = gpu.pool.peakBytes - bytes;
      assert(taken > 0 && taken <= planned, `${taken} bytes taken, ${planned} planned`);

      const question = generatorTemplate(config.generator.prompt_template)
        .render({ question: "cat dog" });
      const solution = await likeliest(gpu, run.weights("generator"), question);
      assert.equal(judged.solution, solution);
      assert.notEqual(solution, await likeliest(gpu, generator, question));
      const { verifier } = config;
      assert(verifier !== null);
      const asked = verifierTemplate(verifier.prompt_template)
        .render({ question: "cat dog", solution, steps: judged.steps.length });
      assert.equal(judged.critique, await likeliest(gpu, run.weights("verifier"), asked));
      assert.deepEqual(told, { solution, critique: judged.critique });
      assert.equal(judged.step, 5);

      // A given one is judged as it is.
      const given = "<think><step>a</step><step>b</step></think><answer>\\boxed{ab}</answer>";
      const other = await judgeSolution(gpu, config, checkpoint, { ...options, solution: given });
      assert.deepEqual([other.steps, other.answer], [["a", "b"], "ab"]);

      // What it takes is known when the solution is.
      gpu.pool.peakBytes = bytes;
      await judgeSolution(gpu, config, checkpoint, { ...options, solution: given });
      const known = await planJudgingMemory(gpu, config, checkpoint, {
        ...options,
        solution: given,
      });
      assert.equal(known.peakBytes, gpu.pool.peakBytes - bytes);
      const small = { ...config, memory_limit_gb: planned / 1e9 / 2 };
      await assert.rejects(
        checkJudgingMemory(gpu, small, checkpoint, options),
        (error) =>
          error instanceof UserError && /takes up to .* memory_limit_gb/.test(error.message),
      );

      const alone = { ...config, verifier: null };
      await assert.rejects(
        judgeSolution(gpu, alone, checkpoint, options),
        (error) => error instanceof UserError && /no verifier/.test(error.message),
      );
    });
  },
);
