/**
 * A run is the same run however often it is cut off: real processes are killed with SIGKILL at different
 * places and resumed, and must leave the bytes of a run that was left alone.
 */

import assert from "node:assert/strict";
import { join } from "node:path";
import { stringify } from "yaml";
import { Gpu } from "../../src/gpu/gpu.ts";
import { listCheckpoints } from "../../src/run/checkpoint.ts";
import { readJsonLines } from "../../src/run/json_lines_log.ts";
import type { MetricsLine } from "../../src/run/metrics_log.ts";
import { RunFolder } from "../../src/run/run_folder.ts";
import { tinyTask, writeTinyPolicies } from "./tiny_policies.ts";

const project = join(import.meta.dirname ?? "", "..", "..");

/** What must be the same to the last byte. */
const compared = [
  "metrics.jsonl",
  "samples.jsonl",
  "generator/model.safetensors",
  "verifier/model.safetensors",
];

/** The same of a run that trains adapters. */
const comparedAdapters = compared.map((file) => file.replace("/model.", "/adapter_model."));

/** Adapters of both policies, and a loss that leaves responses out. */
const adapters = [
  ...[
    "--set",
    "generator.lora={rank: 4}",
    "--set",
    "verifier.lora={rank: 8, targets: [v_proj, down_proj]}",
  ],
  ...["--set", "loss.objective=gspo", "--set", "loss.mask_truncated=true"],
];

/** Steps: G (warm-up), V (warm-up), then G G V twice. */
const totalSteps = 8;

/** A folder for the whole file, made with the policies' weights by the first test that runs. */
class Runs implements Disposable {
  readonly #root = Deno.makeTempDirSync();
  #config = "";

  async prepare(): Promise<void> {
    const gpu = await Gpu.open("auto");
    const { generator, verifier } = await writeTinyPolicies(gpu, this.#root);
    gpu.close();
    const optimizer = { learning_rate: 0.003, warmup_steps: 2, schedule: "cosine" };
    this.#config = join(this.#root, "config.yaml");
    Deno.writeTextFileSync(
      this.#config,
      stringify({
        task: tinyTask,
        generator: { model: generator, max_response_length: 48, optimizer },
        verifier: { model: verifier, max_response_length: 64, optimizer },
        rollout: {
          batch_size: 6,
          group_size: 2,
          verifications_per_solution: 2,
          decode_slots: 9,
        },
        loss: { kl_coefficient: 0.01, entropy_coefficient: 0.01, epochs: 2, mini_batches: 2 },
        advantage: { alpha: { initial: 0.5 } },
        rewards: { generator_format_weight: 0.5, minimum_steps: 1 },
        schedule: {
          generator_warmup_steps: 1,
          verifier_warmup_steps: 1,
          generator_steps: 2,
          verifier_steps: 1,
          total_training_steps: totalSteps,
          test_frequency: 2,
          save_frequency: 2,
        },
        evaluation: { problems: 3 },
        samples_per_step: 2,
      }),
    );
  }

  /** A run folder's path. */
  path(name: string): string {
    return join(this.#root, name);
  }

  /** Begins a run and trains it to the end. */
  async train(name: string, seed = 1, options: readonly string[] = []): Promise<void> {
    const { code, output } = await finish(this.#begin(name, seed, options));
    assert.equal(code, 0, output);
  }

  /** Continues a run to the end. */
  async resume(name: string): Promise<{ code: number; output: string }> {
    return await finish(this.#continue(name));
  }

  /** Begins or continues a run and kills it as soon as metrics.jsonl has `lines` lines. */
  async trainUntilKilled(
    name: string,
    lines: number,
    { resume = false, options = [] }: {
      readonly resume?: boolean;
      readonly options?: readonly string[];
    } = {},
  ): Promise<void> {
    const path = this.path(name);
    Deno.mkdirSync(path, { recursive: true });
    using changes = Deno.watchFs(path, { recursive: false });
    const child = (resume ? this.#continue(name) : this.#begin(name, 1, options)).spawn();
    const { metrics } = RunFolder.at(path);
    const ended = child.status.then(() => changes.close());
    const before = lineCount(metrics);
    for await (const _ of changes) {
      // A resumed run first cuts its log back to the checkpoint.
      if (lineCount(metrics) >= lines && (!resume || lineCount(metrics) !== before)) break;
    }
    child.kill("SIGKILL");
    await ended;
    const { signal } = await child.status;
    await Promise.all([child.stdout.cancel(), child.stderr.cancel()]);
    assert.equal(signal, "SIGKILL", "the run ended before it could be killed");
  }

  #begin(name: string, seed: number, options: readonly string[]): Deno.Command {
    return this.#command(
      ...options,
      "--config",
      this.#config,
      "--seed",
      String(seed),
      "--run",
      this.path(name),
    );
  }

  #continue(name: string): Deno.Command {
    return this.#command("--resume", "--run", this.path(name));
  }

  #command(...options: string[]): Deno.Command {
    return new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--no-check", "src/cli/main.ts", "train", ...options],
      cwd: project,
      stdout: "piped",
      stderr: "piped",
    });
  }

  [Symbol.dispose](): void {
    Deno.removeSync(this.#root, { recursive: true });
  }
}

async function finish(command: Deno.Command): Promise<{ code: number; output: string }> {
  const { code, stdout, stderr } = await command.output();
  const text = new TextDecoder();
  return { code, output: text.decode(stdout) + text.decode(stderr) };
}

function lineCount(path: string): number {
  try {
    return Deno.readTextFileSync(path).split("\n").length - 1;
  } catch {
    return 0;
  }
}

const read = (run: string, file: string) => Deno.readFileSync(join(run, file));

function assertSameRun(run: string, expected: string, files = compared): void {
  for (const file of files) {
    const a = read(run, file);
    const b = read(expected, file);
    const place = a.findIndex((byte, i) => byte !== b[i]);
    assert.ok(place < 0 && a.length === b.length, `${file} differs at byte ${place}`);
  }
}

Deno.test({
  name: "resume: runs that were killed end as one that was not",
  // The GPU outlives its closing by a few timers.
  sanitizeOps: false,
  sanitizeResources: false,
  fn: async (test) => {
    using runs = new Runs();
    await runs.prepare();
    await test.step("an uninterrupted run trains both policies", async () => {
      await runs.train("whole");
      const lines = readJsonLines<MetricsLine>(RunFolder.open(runs.path("whole")).metrics);
      const steps = lines.filter(({ phase }) => phase !== "evaluation");
      assert.equal(steps.map(({ phase }) => phase[0]).join(""), "gvggvggv");
      const evaluated = lines.filter(({ phase }) => phase === "evaluation").map(({ step }) => step);
      assert.deepEqual(evaluated, [0, 2, 3, 6, 8]);
      for (const line of steps) {
        assert.equal(line["sampling/logp_difference/max"], 0, `step ${line.step}`);
        assert.ok(Number(line[`${line.phase}/grad_norm`]) > 0, `step ${line.step}`);
      }
      // Rewards of different sizes, or resuming would be tested on updates without advantages.
      assert.ok(steps.some((line) => Number(line[`${line.phase}/reward_std`]) > 0));
      const saved = listCheckpoints(RunFolder.at(runs.path("whole")).checkpoints);
      assert.deepEqual(saved.map(({ step }) => step), [6, 8]);
    });

    await test.step("the same seed gives the same bytes, another seed others", async () => {
      await runs.train("again");
      assertSameRun(runs.path("again"), runs.path("whole"));
      await runs.train("other", 2);
      for (const file of compared) {
        const other = read(runs.path("other"), file);
        assert.notDeepEqual(other, read(runs.path("whole"), file), file);
      }
    });

    await test.step("killed before the first checkpoint", async () => {
      await runs.trainUntilKilled("first", 1);
      const { code, output } = await runs.resume("first");
      assert.equal(code, 0, output);
      assertSameRun(runs.path("first"), runs.path("whole"));
    });

    await test.step("killed three times", async () => {
      await runs.trainUntilKilled("thrice", 3);
      await runs.trainUntilKilled("thrice", 6, { resume: true });
      await runs.trainUntilKilled("thrice", 9, { resume: true });
      const { code, output } = await runs.resume("thrice");
      assert.equal(code, 0, output);
      assertSameRun(runs.path("thrice"), runs.path("whole"));
    });

    await test.step("killed while training adapters", async () => {
      await runs.train("adapters", 1, adapters);
      const { metrics } = RunFolder.open(runs.path("adapters"));
      const steps = readJsonLines<MetricsLine>(metrics).filter(({ phase }) =>
        phase !== "evaluation"
      );
      for (const line of steps) {
        assert.equal(line["sampling/logp_difference/max"], 0, `step ${line.step}`);
      }
      assert.ok(steps.some((line) => Number(line[`${line.phase}/grad_norm`]) > 0));
      await runs.trainUntilKilled("adapters-killed", 5, { options: adapters });
      const { code, output } = await runs.resume("adapters-killed");
      assert.equal(code, 0, output);
      assertSameRun(runs.path("adapters-killed"), runs.path("adapters"), comparedAdapters);
    });

    await test.step("killed while writing a line and a checkpoint", async () => {
      await runs.trainUntilKilled("torn", 5);
      const folder = RunFolder.open(runs.path("torn"));
      for (const log of [folder.metrics, folder.samples, folder.timings]) {
        Deno.writeTextFileSync(log, '{"step": 7, "pha', { append: true });
      }
      const half = join(folder.checkpoints, "step-000004.tmp");
      Deno.mkdirSync(half, { recursive: true });
      Deno.writeTextFileSync(join(half, "generator.safetensors"), "half of it");
      const { code, output } = await runs.resume("torn");
      assert.equal(code, 0, output);
      assertSameRun(runs.path("torn"), runs.path("whole"));
      assert.ok(
        [...Deno.readDirSync(folder.checkpoints)].every(({ name }) => !name.endsWith(".tmp")),
      );
    });

    await test.step("a checkpoint cut short is passed over", async () => {
      const folder = RunFolder.open(runs.path("again"));
      const [, last] = listCheckpoints(folder.checkpoints);
      Deno.truncateSync(join(last.path, "verifier.safetensors"), 1000);
      Deno.removeSync(folder.weights("verifier"), { recursive: true });
      const { code, output } = await runs.resume("again");
      assert.equal(code, 0, output);
      assert.match(output, /is not whole and is passed over/);
      assert.match(output, /from step 6/);
      assertSameRun(runs.path("again"), runs.path("whole"));
    });

    await test.step("a checkpoint whose content changed is refused by name", async () => {
      const folder = RunFolder.open(runs.path("other"));
      const [, last] = listCheckpoints(folder.checkpoints);
      const file = join(last.path, "generator.safetensors");
      const bytes = Deno.readFileSync(file);
      bytes[bytes.length - 5] ^= 4;
      Deno.writeFileSync(file, bytes);
      Deno.removeSync(folder.weights("verifier"), { recursive: true });
      const { code, output } = await runs.resume("other");
      assert.equal(code, 2, output);
      assert.match(output, /step-000008 cannot be used: the content of generator\.safetensors/);
      assert.match(output, /Remove that folder to resume from the one before/);
      assert.doesNotMatch(output, /\n\s+at /, "a user's error needs no stack trace");
    });
  },
});
