/** Each command as a user runs it, from its arguments to its files: once as a process of its own, then in this one. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { COMMANDS } from "../../src/cli/commands.ts";
import { PROJECT_FOLDER } from "../../src/cli/dev/project.ts";
import { writeChattingGguf } from "../model/weights/fixture_gguf.ts";
import { exists } from "../../src/platform/files/atomic_file.ts";
import { latestCheckpoint } from "../../src/run/store/checkpoint.ts";
import { readJsonLines } from "../../src/run/store/json_lines_log.ts";
import type { MetricsLine } from "../../src/run/store/metrics_log.ts";
import { RunFolder } from "../../src/run/store/run_folder.ts";
import { gpuOf } from "../kernels/harness.ts";
import { type TinyProject, withTinyProject } from "../run/tiny_project.ts";
import { runCaptured } from "./run_captured.ts";

/** The GPU that makes the models outlives a test on purpose: it is opened once per process. */
function testCommand(name: string, body: (project: TinyProject) => Promise<void>): void {
  Deno.test({
    name,
    sanitizeOps: false,
    sanitizeResources: false,
    fn: async () => await withTinyProject(await gpuOf("native"), body),
  });
}

function command(args: readonly string[]): Deno.Command {
  return new Deno.Command(Deno.execPath(), {
    args: ["run", "--allow-all", "src/cli/main.ts", ...args],
    cwd: PROJECT_FOLDER,
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  });
}

/** Runs a command that must succeed and returns what it wrote to standard output. */
async function run(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await command(args).output();
  const decoder = new TextDecoder();
  assert.equal(code, 0, `${args.join(" ")}\n${decoder.decode(stderr)}`);
  return decoder.decode(stdout);
}

/** The same in this process. */
async function runHere(...args: string[]): Promise<string> {
  const { code, output, errors } = await runCaptured(COMMANDS, args);
  assert.equal(code, 0, `${args.join(" ")}\n${errors}`);
  return output;
}

testCommand("train: trains, reports, and leaves a finished run alone", async (project) => {
  const folder = RunFolder.at(join(project.folder, "run"));
  const printed = await run("train", "--config", project.config, "--run", folder.path);
  assert.match(
    printed,
    /^\| GPU memory, at most[^]*\nRL Tango \(GRPO\) · last-letter · generator of [\d,]+ parameters/,
  );
  assert.match(printed, /generator accuracy, held-out problems: [\d.]+ % → [\d.]+ %/);
  assert.match(printed, /report: .*report\.md, checkpoint: .*step-000005/);
  assert.match(Deno.readTextFileSync(folder.report), /3 generator, 2 verifier/);
  for (const policy of ["generator", "verifier"] as const) {
    assert.ok(exists(join(folder.weights(policy), "model.safetensors")));
  }
  assert.match(await runHere("train", "--run", folder.path, "--resume"), /is finished/);
  assert.match(
    await run("samples", folder.path, "--phase", "generator", "--count", "1"),
    /^step 5, generator\nproblem {4}[^]*\n1 of \d+ samples in .*; --text shows what/,
  );
});

testCommand("train: fewer steps than the warm-ups' cut the schedule short", async (project) => {
  const folder = RunFolder.at(join(project.folder, "run"));
  const schedules = [
    ...["generator_warmup_steps=2", "verifier_warmup_steps=40"].map((one) => `schedule.${one}`),
    ...["generator", "verifier"].map((policy) => `${policy}.optimizer.schedule=cosine`),
  ].flatMap((one) => ["--set", one]);
  const options = ["--config", project.config, "--run", folder.path, ...schedules];
  await runHere("train", ...options, "--steps", "3");
  const lines = readJsonLines<MetricsLine>(folder.metrics);
  assert.equal(lines.map(({ phase }) => phase[0]).join(""), "eggeve");
  // Cosine over the two generator steps there are, not over those the warm-up would have had.
  assert.deepEqual(lines.flatMap((line) => line["generator/learning_rate"] ?? []), [1e-4, 5e-5]);
  assert.deepEqual(lines.flatMap((line) => line["generator/alpha"] ?? []), [0, 0]);
  assert.ok(exists(join(folder.weights("generator"), "model.safetensors")));
});

for (const [signal, exitCode] of [["SIGINT", 130], ["SIGTERM", 143]] as const) {
  testCommand(
    `train: ${signal} finishes the step, saves, exits ${exitCode}; --resume goes on`,
    async (project) => {
      const folder = RunFolder.at(join(project.folder, "run"));
      const steps = 2000;
      const options = ["--config", project.config, "--run", folder.path, "--steps", String(steps)];
      const child = command(["train", ...options]).spawn();
      const reader = child.stderr.getReader();
      const decoder = new TextDecoder();
      for (let seen = ""; !seen.includes("tokens/s");) { // the first progress line
        const { value, done } = await reader.read();
        if (done) break;
        seen += decoder.decode(value);
      }
      child.kill(signal);
      reader.releaseLock();
      const [printed, , { code }] = await Promise.all([
        new Response(child.stdout).text(),
        child.stderr.cancel(),
        child.status,
      ]);
      assert.equal(code, exitCode);
      assert.match(printed, /Stopped\. Continue with: \.\/tango train --run .* --resume/);
      assert.match(Deno.readTextFileSync(folder.report), /The run stopped after step \d+ of 2000/);
      // Cut short, so that the rest is quick.
      const done = latestCheckpoint(folder.checkpoints)?.step ?? NaN;
      const config = Deno.readTextFileSync(folder.configuration);
      Deno.writeTextFileSync(folder.configuration, config.replace(String(steps), String(done + 2)));
      assert.match(
        await runHere("train", "--run", folder.path, "--resume"),
        new RegExp(`from step \\d+\n[^]*step-0*${done + 2}`),
      );
    },
  );
}

testCommand("train: a reward that is no number ends it with exit code 2", async (project) => {
  const module = join(project.folder, "reward.ts");
  Deno.writeTextFileSync(module, "export default () => NaN;");
  const options = ["--run", join(project.folder, "run"), "--set", `rewards.module=${module}`];
  const { code, stderr } = await command(["train", "--config", project.config, ...options])
    .output();
  const printed = new TextDecoder().decode(stderr);
  assert.equal(code, 2, printed);
  assert.match(printed, new RegExp(`${module}: for the question .* returned NaN`));
  assert.doesNotMatch(printed, /\n +at /);
});

testCommand("sft: trains, logs, reports, saves weights that eval opens", async (project) => {
  const folder = RunFolder.at(join(project.folder, "run"));
  const printed = await run("sft", "--config", project.sftConfig, "--run", folder.path);
  assert.match(
    printed,
    /generator accuracy, greedy: [\d.]+ %, held-out loss: [\d.]+ after 2 updates/,
  );
  assert.match(Deno.readTextFileSync(folder.report), /2 updates of 2 examples from random weights/);
  assert.equal(Deno.readTextFileSync(folder.metrics).trim().split("\n").length, 5);
  const weights = folder.weights("generator");
  assert.match(
    await runHere("eval", "--model", weights, "--config", project.config, "--problems", "2"),
    /\| accuracy +\|/,
  );
});

testCommand(
  "train and export: an adapter is trained, merged, and opens as a model",
  async (project) => {
    const folder = RunFolder.at(join(project.folder, "run"));
    const train = ["train", "--config", project.config, "--run", folder.path, "--steps", "2"];
    const printed = await runHere(
      ...train,
      "--set",
      "generator.lora={rank: 4}",
      "--set",
      "verifier=null",
    );
    assert.match(printed, /generator of [\d,]+ parameters with an adapter of [\d,]+/);
    const adapter = folder.weights("generator");
    assert.ok(exists(join(adapter, "adapter_config.json")));
    const merged = join(project.folder, "merged");
    assert.match(await run("export", "--model", adapter, "--output", merged), /bfloat16/);
    for (const model of [adapter, merged]) {
      assert.ok(
        (await runHere("generate", "--model", model, "--max-length", "4", "cat")).length > 0,
      );
    }
  },
);

testCommand("export: a GGUF file answers as the model it is of", async (project) => {
  const source = writeChattingGguf(project.folder);
  const file = join(project.folder, "exported.gguf");
  const exporting = ["export", "--model", source, "--gguf", "F32", "--output"];
  assert.match(await run(...exporting, file), /parameters, F32 → \S+exported\.gguf, /);
  const said = (model: string) => runHere("chat", "--model", model, "--temperature", "0", "abc");
  assert.equal(await said(file), await said(source));
  await assert.rejects(run(...exporting, file), /exported\.gguf exists already/);
  // Its template says what the last message says, and nothing around it.
  const other = join(project.folder, "other.gguf");
  await assert.rejects(run(...exporting, other, "--ollama"), /no Modelfile was made/);
  assert.equal(exists(other), false);
  await assert.rejects(
    run("export", "--model", source, "--ollama", "--output", other),
    /--ollama is of a whole model's file/,
  );
  await assert.rejects(
    run("export", "--model", source, "--gguf", "Q8_0", "--adapter", "--output", other),
    /an adapter alone is written in F32/,
  );
  await assert.rejects(run(...exporting, "exported"), /it names a file that ends in \.gguf/);
  assert.deepEqual(
    [...Deno.readDirSync(project.folder)].filter(({ name }) => name.endsWith(".tmp")),
    [],
  );
});

testCommand("eval: a generator over samples, and a verifier, as JSON", async (project) => {
  const common = ["eval", "--config", project.config, "--problems", "3", "--json"];
  const sampled = JSON.parse(
    await run(...common, "--model", project.generator, "--k", "4", "--temperature", "0.5"),
  );
  assert.equal(sampled.temperature, 0.5);
  assert.deepEqual(
    Object.keys(sampled.metrics).filter((name) => /_at_/.test(name)),
    [1, 2, 4].map((k) => `eval/generator/pass_at_${k}`).concat(
      [1, 2, 4].map((k) => `eval/generator/maj_at_${k}`),
    ),
  );
  const models = ["--model", project.verifier, "--generator", project.generator];
  const judged = JSON.parse(await runHere(...common, "--policy", "verifier", ...models));
  for (const name of ["accuracy", "balanced_accuracy", "precision", "recall", "f1_score"]) {
    assert.equal(typeof judged.metrics[`eval/verifier/${name}`], "number", name);
  }
});

testCommand(
  "generate: the same seed gives the same answers, the template is optional",
  async (project) => {
    const common = ["generate", "--model", project.generator, "--max-length", "8", "--count", "2"];
    const answers = await run(...common, "cat dog");
    assert.match(answers, /^# 1\n[^]*\n\n# 2\n/);
    assert.equal(await runHere(...common, "--raw", "<bos>cat dog?"), answers);
    assert.notEqual(await runHere(...common, "--seed", "1", "cat dog"), answers);
  },
);

testCommand(
  "compare: three arms over seeds; finished runs are not repeated",
  async (project) => {
    const path = join(project.folder, "comparison");
    const first = await run("compare", "--config", project.config, "--run", path, "--seeds", "3,");
    assert.match(first, /\| frozen-verifier \| +1 \|/);
    const early = RunFolder.at(join(path, "tango-seed-3"));
    const before = Deno.statSync(early.report).mtime;
    const second = await runHere("compare", "--run", path, "--resume", "--seeds", "3,4");
    assert.match(second, /\| tango +\| +2 \|/);
    assert.doesNotMatch(second, /seed 3\n/);
    assert.deepEqual(Deno.statSync(early.report).mtime, before);
    const report = Deno.readTextFileSync(join(path, "compare.md"));
    assert.match(report, /All 6 runs are done\./);
    assert.ok(Deno.statSync(join(path, "compare.svg")).size > 0);
  },
);
