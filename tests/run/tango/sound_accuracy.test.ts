import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import type { Problem } from "../../../src/data/task.ts";
import { resolveTangoConfig, tangoConfigSchema } from "../../../src/run/config/config_schema.ts";
import { TaskProblems } from "../../../src/run/problems/task_problems.ts";
import { HeldOutEvaluation } from "../../../src/run/tango/held_out_evaluation.ts";
import { openPolicies, releasePolicies } from "../../../src/run/tango/policies.ts";
import { gpuOf } from "../../kernels/harness.ts";

/** What each person has, read from the question alone. */
function countsOf({ question }: Problem): number[] {
  let count = Number(question.match(/has (\d+) pens/)?.[1]);
  return [...question.matchAll(/pal \w+ has (\d+) (more|fewer|times as many)/g)]
    .map(([, amount, change]) => {
      const by = Number(amount);
      count = change === "more" ? count + by : change === "fewer" ? count - by : count * by;
      return count;
    });
}

Deno.test("held-out solutions: what is right by luck is not sound", async () => {
  const gpu = await gpuOf("native");
  const config = resolveTangoConfig(tangoConfigSchema.parse({
    task: { name: "chains", minimum_steps: 2, maximum_steps: 6 },
    generator: {
      model: fileURLToPath(new URL("../../../weights/chains/generator", import.meta.url)),
      max_response_length: 96,
    },
    verifier: null,
    rollout: { batch_size: 4, group_size: 2 },
    evaluation: { problems: 96, samples: 2, seed: 4 },
  }));
  const policies = await openPolicies(gpu, config);
  const problems = new TaskProblems(config.task, 1, { problems: 96, seed: 4 });
  const { metrics, solutions } = await new HeldOutEvaluation(config, problems)
    .measureGenerator(policies.generator, 0);
  releasePolicies(policies);
  const right = solutions.filter(({ correct }) => correct);
  const sound = right.filter(({ problem, parsed: { steps } }) => {
    const counts = countsOf(problem as Problem);
    return steps.every(({ text }, step) => Number(text.split("=")[1]) === counts[step]);
  });
  assert.equal(metrics["eval/generator/accuracy"], right.length / solutions.length);
  assert.equal(metrics["eval/generator/sound_accuracy"], sound.length / solutions.length);
  // The warm start's answers often come out right of wrong steps: numbers are small.
  assert.ok(sound.length < right.length);
});
