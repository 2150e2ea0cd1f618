/** A comparison that is killed after its first row, and goes on to the rows of one that was left alone. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { stringify } from "yaml";
import { comparisonFiles } from "../../../src/run/compare/comparison_folder.ts";
import { readRows } from "../../../src/run/compare/run_row.ts";
import { tinyPolicies, tinyTask } from "../tiny_policies.ts";

const project = join(import.meta.dirname ?? "", "..", "..", "..");

const config = {
  task: tinyTask,
  generator: { model: tinyPolicies.generator, max_response_length: 24 },
  verifier: { model: tinyPolicies.verifier, max_response_length: 24 },
  rollout: { batch_size: 4, group_size: 2 },
  schedule: {
    ...{ generator_steps: 2, verifier_steps: 1, total_training_steps: 6 },
    ...{ test_frequency: 2, save_frequency: 2 },
  },
  // Sampled, so that it is not all right from the start.
  evaluation: { problems: 16, samples: 2 },
  tuning: "default",
};

const arms = { tango: {}, long: { verifier: null, steps: 6 } };

const compare = (options: readonly string[]) =>
  new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", "src/cli/main.ts", "compare", ...options],
    cwd: project,
    stdout: "piped",
    stderr: "piped",
  });

async function finish(options: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await compare(options).output();
  const text = new TextDecoder();
  assert.equal(code, 0, text.decode(stderr));
  return text.decode(stdout);
}

/** Kills it as soon as a row is written. */
async function killAfterRow(options: readonly string[], path: string): Promise<void> {
  const child = compare(options).spawn();
  const output = [child.stdout, child.stderr].map((stream) => new Response(stream).text());
  const { rows } = comparisonFiles(path);
  let isOver = false;
  const over = child.status.finally(() => isOver = true);
  while (!isOver && readRows(rows).length === 0) {
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  assert.ok(!isOver, (await Promise.all(isOver ? output : [])).join(""));
  child.kill("SIGKILL");
  await over;
  await Promise.all(output);
}

/** Rows without what depends on the clock. */
const timeless = (path: string) =>
  readRows(comparisonFiles(path).rows).map(({ seconds: _, evaluations, ...row }) => ({
    ...row,
    evaluations: evaluations.map(({ seconds: _, ...evaluation }) => evaluation),
  }));

Deno.test({
  name: "compare: killed after its first row and started again, it has the rows of one left alone",
  async fn() {
    const folder = Deno.makeTempDirSync();
    try {
      const [configFile, armsFile] = [join(folder, "tango.yaml"), join(folder, "arms.yaml")];
      Deno.writeTextFileSync(configFile, stringify(config));
      Deno.writeTextFileSync(armsFile, stringify({ arms }));
      const options = ["--config", configFile, "--arms", armsFile, "--seeds", "2"];
      const [killed, whole] = [join(folder, "killed"), join(folder, "whole")];
      await killAfterRow([...options, "--run", killed], killed);
      const [first] = readRows(comparisonFiles(killed).rows);
      assert.deepEqual([first.arm, first.seed], ["tango", 0]);
      const again = await finish(["--run", killed, "--resume", "--target", "0.01"]);
      assert.doesNotMatch(again, /tango, seed 0\n/, "a finished row is not done again");
      // The first row's seconds are those that were measured then.
      assert.deepEqual(readRows(comparisonFiles(killed).rows)[0], first);
      // Two at once come to the same as one after the other.
      await finish([...options, "--run", whole, "--jobs", "2", "--baseline", "long"]);
      assert.deepEqual(timeless(killed), timeless(whole));
      const rows = timeless(whole).map((
        { arm, seed, generatorSteps, steps },
      ) => [arm, seed, generatorSteps, steps]);
      assert.deepEqual(rows, [["tango", 0, 4, 6], ["long", 0, 6, 6], ["tango", 1, 4, 6], [
        "long",
        1,
        6,
        6,
      ]]);
      const accuracies = timeless(whole).flatMap(({ evaluations }) =>
        evaluations.map(({ accuracy }) => accuracy)
      );
      assert.ok(new Set(accuracies).size > 1, `${accuracies}`);
      const results = JSON.parse(Deno.readTextFileSync(comparisonFiles(whole).results));
      assert.deepEqual(results.arms, arms);
      assert.equal(results.baseline, "long");
      assert.equal(results.rows.length, 4);
      assert.equal(results.budgets.generatorSteps, 4);
      const lines = Deno.readTextFileSync(comparisonFiles(whole).table).trim().split("\n");
      assert.equal(lines.length, 5);
      const report = Deno.readTextFileSync(comparisonFiles(killed).report);
      assert.match(report, /All 4 runs are done\./);
      assert.match(report, /## To 1\.0 %/);
      assert.match(report, /## Beside tango/);
      assert.match(report, /\| long \| +2 \|/);
      assert.match(report, /!\[.*\]\(compare\.svg\)/);
    } finally {
      Deno.removeSync(folder, { recursive: true });
    }
  },
});
