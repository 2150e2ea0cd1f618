import assert from "node:assert/strict";
import { join } from "node:path";
import { COMMANDS } from "../../src/cli/commands.ts";
import { gpuOf } from "../kernels/harness.ts";
import { withTinyProject } from "../run/tiny_project.ts";
import { runCaptured } from "./run_captured.ts";

const plan = (...args: string[]) => runCaptured(COMMANDS, ["plan", ...args]);

const published = [
  "--config",
  "configs/tango-qwen2.5-7b.yaml",
  "--set",
  "generator.model=Qwen2.5-0.5B",
  "--set",
  "verifier.model=Qwen2.5-0.5B",
  "--set",
  "evaluation.problems=100",
];

Deno.test("plan: a run of which no file is there", async () => {
  const { code, printed } = await plan(
    "--gpu",
    "h100",
    "--ranks",
    "4",
    ...published,
    "--set",
    "reduction.shards=4",
    "--problem-tokens",
    "300",
    "--judgment-tokens",
    "600",
  );
  assert.equal(code, 0, printed);
  assert.match(printed, /^4 × NVIDIA H100 SXM5 80 GB\nTokens: problems 300, solutions 1025/);
  assert.match(printed, /\| predicted +\| +colocated \| +split \d \+ \d \|/);
  for (
    const row of ["generator step", "· rollout", "whole run", "idle", "sent by a rank", "memory"]
  ) {
    assert.ok(printed.includes(`| ${row}`), `${row} in\n${printed}`);
  }
});

Deno.test("plan: the memory of many ranks, whose optimizer's state is cut, is less than that of one", async () => {
  const bytesOf = async (ranks: number) => {
    const options = ["--ranks", `${ranks}`, "--set", "reduction.shards=32", "--json"];
    const { code, printed } = await plan("--gpu", "m3", ...options);
    assert.equal(code, 0, printed);
    return JSON.parse(printed).plans.map(({ memory }: { memory: { bytes: number }[] }) =>
      Math.max(...memory.map(({ bytes }) => bytes))
    );
  };
  const [[alone], [together, apart]] = [await bytesOf(1), await bytesOf(32)];
  assert.ok(together < alone && apart < together, `${alone}, ${together}, ${apart}`);
});

Deno.test("plan: what cannot be planned is said with what to do", async () => {
  const refused = async (message: RegExp, ...args: string[]) => {
    const { code, printed } = await plan(...args);
    assert.equal(code, 2, printed);
    assert.match(printed, message);
  };
  await refused(/--gpu <name>' not specified/);
  await refused(/the GPUs that come along are/, "--gpu", "gtx");
  await refused(/at least 1/, "--gpu", "h100", "--ranks", "0");
  await refused(/--problem-tokens and --judgment-tokens/, "--gpu", "h100", ...published);
  const lengths = ["--problem-tokens", "300", "--judgment-tokens", "600"];
  await refused(
    /There is no model models\/mine\. To plan without it/,
    ...["--gpu", "h100", ...published, "--set", "generator.model=models/mine", ...lengths],
  );
  const parts = ["--ranks", "4", "--set", "reduction.shards=2"];
  await refused(/reduction\.shards=4/, "--gpu", "h100", ...parts);
  await refused(/at most 96/, "--gpu", "h100", "--solution-tokens", "97");
  await refused(
    /expected no fewer/,
    ...["--gpu", "h100", ...published, "--problem-tokens", "300", "--judgment-tokens", "200"],
  );
});

Deno.test("plan: a preset for 8 GB, whose file of 4-bit blocks is not fetched", async () => {
  for (
    const [preset, model, blocks] of [
      ["qwen3-4b", "Qwen3-4B", "Q4_K_M"],
      ["gemma3-4b", "gemma-3-4b-it", "Q4_K_M"],
      ["qwen2.5-7b", "Qwen2.5-7B-Instruct", "Q4_K_S"],
    ]
  ) {
    const { code, printed } = await plan(
      ...["--gpu", "rtx4090", "--config", `configs/${preset}-8gb.yaml`],
      // What fine-tuning leaves is an adapter on this file.
      ...["--set", `generator.model=models/${model}-GGUF/${model}-${blocks}.gguf`],
      ...["--problem-tokens", "200", "--judgment-tokens", "400"],
    );
    assert.equal(code, 0, printed);
    assert.match(printed, /memory of a rank, which has 24\.00 GB +\| +[67]\.\d\d GB/);
  }
});

Deno.test({
  name: "plan: a run's own lengths, and how far off the prediction is",
  // The device outlives a test on purpose: it is opened once per process.
  sanitizeOps: false,
  sanitizeResources: false,
  fn: async () => {
    await withTinyProject(await gpuOf("native"), async ({ config, folder }) => {
      const run = join(folder, "run");
      const trained = await runCaptured(COMMANDS, ["train", "--config", config, "--run", run]);
      assert.equal(trained.code, 0, trained.printed);
      const { code, printed } = await plan("--gpu", "m3", "--run", run);
      assert.equal(code, 0, printed);
      assert.match(printed, /solutions \d+ \(at most 10\)/);
      assert.match(printed, /\| +\| +predicted \| +measured \| +error \|/);
      assert.match(printed, /\| verifier step .*%/);
    });
  },
});
