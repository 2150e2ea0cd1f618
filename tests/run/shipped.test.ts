/** What the repository ships is what its configurations name. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { correctSolution, renderSolution } from "../../src/data/solution_text.ts";
import { loadModelFolder } from "../../src/model/weights/model_folder.ts";
import { loadSftConfig, loadTangoConfig } from "../../src/run/config/load_config.ts";
import { TaskProblems } from "../../src/run/problems/task_problems.ts";
import { onEveryGpu } from "../kernels/harness.ts";

const files = [...Deno.readDirSync("configs")].map(({ name }) => name).filter((name) =>
  name.endsWith(".yaml")
).sort();
const [fineTuning, training] = [true, false].map((sft) =>
  files.filter((name) => name.endsWith("-sft.yaml") === sft).map((name) => join("configs", name))
);

/** Whether a path is one of the repository's own; others are fetched or made by the user. */
const isShipped = (path: string | null | undefined) => path?.startsWith("weights/") ?? false;

onEveryGpu("shipped training configurations start from shipped weights", async (gpu) => {
  const onTasks = training.map((file) => ({ file, config: loadTangoConfig(file) }))
    .filter(({ config }) => config.data === null);
  assert.ok(onTasks.length > 0);
  for (const { file, config } of onTasks) {
    const problems = new TaskProblems(config.task, 0, { problems: 20, seed: 1 });
    for (const policy of [config.generator, config.verifier]) {
      assert.ok(policy && isShipped(policy.model), file);
      const { model, tokenizer } = await loadModelFolder(gpu, policy.model, { trained: false });
      for (const problem of problems.heldOut("test")) {
        const text = problem.question + renderSolution(correctSolution(problem));
        assert.equal(tokenizer.decode(tokenizer.encode(text)), text, file);
      }
      model.release();
    }
  }
  await gpu.finish();
});

/** `configs/TASK-POLICY-sft.yaml` has made `weights/TASK/POLICY`, and leaves it alone. */
const shippedBy = (file: string) =>
  file.replace(/^configs\/(.+?)-((?:generator|verifier).*)-sft\.yaml$/, "weights/$1/$2");

Deno.test("shipped fine-tuning configurations write where a training configuration reads", () => {
  const read = training.flatMap((file) => {
    const { generator, verifier } = loadTangoConfig(file);
    return [generator.model, verifier?.model];
  });
  const written = fineTuning.map((file) => loadSftConfig(file).output_directory ?? shippedBy(file));
  assert.deepEqual(written.filter((path) => !read.includes(path)), []);
  // Two configurations may start from the same weights.
  const shipped = new Set(read.filter(isShipped));
  assert.deepEqual(written.filter(isShipped).sort(), [...shipped].sort());
  const over = fineTuning.filter((file) => isShipped(loadSftConfig(file).output_directory));
  assert.deepEqual(over, [], "whoever tries one keeps the weights that came with it");
});
