import assert from "node:assert/strict";
import { join } from "node:path";
import { parseNvidiaMemory } from "../../../src/platform/gpus/device_memory.ts";
import type { Gpu } from "../../../src/gpu/gpu.ts";
import type { TangoConfig } from "../../../src/run/config/config_schema.ts";
import { loadSftConfig, loadTangoConfig } from "../../../src/run/config/load_config.ts";
import { checkMemory } from "../../../src/run/memory/memory_check.ts";
import { formatBytes } from "../../../src/base/format_bytes.ts";
import { formatMemoryPlan, type MemoryPlan } from "../../../src/run/memory/memory_plan.ts";
import { RunFolder } from "../../../src/run/store/run_folder.ts";
import { planSftMemory, sftShrinks } from "../../../src/run/memory/sft_memory_plan.ts";
import { SftRun } from "../../../src/run/sft/sft_run.ts";
import { planTangoMemory } from "../../../src/run/memory/tango_memory_plan.ts";
import { train } from "../../../src/run/loop/training_loop.ts";
import { TangoRun } from "../../../src/run/tango/tango_run.ts";
import { tangoShrinks } from "../../../src/run/memory/tango_shrinks.ts";
import { type ModelConfig, plainDecoder, wholeHeads } from "../../../src/model/decoder/config.ts";
import { wholeModelFiles } from "../../../src/model/weights/model_files.ts";
import { loadModelFolder } from "../../../src/model/weights/model_folder.ts";
import { writePiecesAtomically } from "../../../src/platform/files/atomic_file.ts";
import { onEveryGpu } from "../../kernels/harness.ts";
import { tinyModel } from "../../model/tiny_model.ts";
import { withTinyProject } from "../tiny_project.ts";

const plannedTango = (gpu: Gpu, config: TangoConfig) => ({
  config,
  limit: config.memory_limit_gb,
  plan: (changed: TangoConfig) => planTangoMemory(gpu, changed),
  shrinks: tangoShrinks,
});

/** The memory's part that this run added. */
async function measured(
  gpu: Gpu,
  run: () => Promise<void>,
): Promise<{ live: number; held: number }> {
  gpu.pool.trim();
  const before = gpu.pool.liveBytes;
  gpu.pool.peakBytes = before;
  await run();
  return { live: gpu.pool.peakBytes - before, held: gpu.pool.reservedBytes - before };
}

onEveryGpu("memory plan: what a run then takes is within a tenth of it", async (gpu) => {
  await withTinyProject(gpu, async ({ config: file, folder }) => {
    const variants = {
      whole: [],
      adapters: ["generator.lora={rank: 4}", "verifier.lora={rank: 4}", "loss.share_prompts=false"],
      checkpointing: ["loss.gradient_checkpointing=true", "loss.kl_coefficient=0"],
      "shards of a batch": [
        "reduction.shards=4",
        "loss.micro_batch_tokens=250",
        // So that training takes the most.
        "rollout.decode_slots=16",
      ],
      "16 bits, and references on the host": [
        "trained_dtype=bfloat16",
        "reference_memory=host",
        "loss.kl_coefficient=0.01",
      ],
      "sampling the most": ["loss.micro_batch_tokens=100"],
      "the generator alone": [
        "verifier=null",
        "rollout.batch_size=4",
        "loss.micro_batch_tokens=60",
      ],
    };
    for (const [name, set] of Object.entries(variants)) {
      // Questions of one length; and a random model hardly ever stops, so that its responses are as long
      // as they may be.
      const words = "{minimum_steps: 3, maximum_steps: 3, minimum_letters: 5, maximum_letters: 5}";
      const full = [`task=${words}`, "rollout.batch_size=16", "loss.micro_batch_tokens=500"];
      const config = loadTangoConfig(file, {
        set: [...full, ...set, "schedule.total_training_steps=4"],
      });
      const plan = await planTangoMemory(gpu, config);
      assert.equal(
        /among it sums of its batch's 4 shards +\|/.test(formatMemoryPlan(plan)),
        config.reduction.shards === 4,
      );
      const sum = plan.resident.reduce((bytes, use) => bytes + use.bytes, 0) +
        Math.max(...plan.phases.map(({ bytes }) => bytes));
      // The optimizers' few scalars are in no row.
      assert.ok(plan.peakBytes >= sum && plan.peakBytes - sum <= 4096, `${plan.peakBytes}, ${sum}`);
      const { live, held } = await measured(gpu, async () => {
        gpu.pool.budgetBytes = plan.peakBytes + gpu.pool.liveBytes;
        const run = await TangoRun.open(gpu, config);
        await train(run, RunFolder.create(join(folder, name), config));
        run.close();
      });
      gpu.pool.budgetBytes = Infinity;
      const shares = `${name}: ${live} live, ${held} held, ${plan.peakBytes} planned`;
      assert.ok(live <= plan.peakBytes && live >= 0.9 * plan.peakBytes, shares);
      assert.ok(held <= 1.1 * plan.peakBytes, shares);
    }
  });
});

/** Saves a model of Gemma 2's family in the place of another, every second layer with a window. */
async function withWindows(gpu: Gpu, folder: string, window: number): Promise<void> {
  const { model: other, tokenizer, stopTokens } = await loadModelFolder(gpu, folder, {
    trained: false,
    storage: "f32",
  });
  const [whole] = wholeHeads(8, 10000);
  const config: Partial<ModelConfig> = {
    ...{ architecture: "gemma2", kinds: [{ ...whole, window }, whole], layers: 2, qkNorm: false },
    ...{ norms: { fromOne: true, after: true }, activation: "gelu", tiedEmbeddings: true },
    scales: { ...plainDecoder.scales, embedding: Math.sqrt(32), attention: 8 ** -0.5 },
    vocabularySize: other.config.vocabularySize,
  };
  other.release();
  const model = tinyModel(gpu, { config });
  try {
    const content = wholeModelFiles({ model, tokenizer, stopTokens });
    for (const [file, text] of Object.entries(content)) {
      const path = join(folder, file);
      if (typeof text === "string") Deno.writeTextFileSync(path, text);
      else await writePiecesAtomically({ path, bytes: text.bytes, next: "" }, text.pieces());
    }
  } finally {
    model.release();
  }
}

onEveryGpu("memory plan: layers with a window take the pages that they can see", async (gpu) => {
  await withTinyProject(gpu, async ({ config: file, generator, folder }) => {
    const words = "{minimum_steps: 3, maximum_steps: 3, minimum_letters: 5, maximum_letters: 5}";
    const config = loadTangoConfig(file, {
      set: [
        ...["verifier=null", `task=${words}`, "rollout.batch_size=16"],
        ...["generator.max_response_length=300", "loss.micro_batch_tokens=400"],
        ...["schedule.total_training_steps=2", "schedule.test_frequency=0"],
      ],
    });
    const planned: number[] = [];
    // As long as the model's positions, which is none, and of two pages.
    for (const window of [512, 40]) {
      await withWindows(gpu, generator, window);
      const plan = await planTangoMemory(gpu, config);
      const sampling = plan.phases.find(({ what }) => what === "sampling solutions");
      planned.push(sampling?.bytes ?? NaN);
      const { live } = await measured(gpu, async () => {
        const run = await TangoRun.open(gpu, config);
        await train(run, RunFolder.create(join(folder, `window of ${window}`), config));
        run.close();
      });
      // Sampling takes the most, and a run samples as was rehearsed.
      assert.equal(live, plan.peakBytes);
    }
    // Of 32 sequences 11 pages each, and of those with a window 3 each and 64, of 2 x 16 numbers in f32.
    const [before, after] = planned;
    const saved = (32 * 11 - (32 * 3 + 64)) * 32 * 2 * 16 * 4;
    // How much of a pass's memory is not used again yet when the next is taken depends on where the device is given work.
    assert.ok(Math.abs(before - after - saved) < 0.25 * saved, `${before}, ${after}`);
  });
});

onEveryGpu("memory plan: going on from the ends of steps fills the slots", async (gpu) => {
  await withTinyProject(gpu, async ({ config: file }) => {
    const few = ["rollout.batch_size=2", "rollout.group_size=2", "evaluation.problems=2"];
    const sampling = async (...set: string[]) => {
      const config = loadTangoConfig(file, { set: [...few, "rollout.decode_slots=64", ...set] });
      const { phases } = await planTangoMemory(gpu, config);
      return phases.find(({ what }) => what === "sampling solutions")?.bytes ?? 0;
    };
    const [without, values, paid] = [
      await sampling(),
      await sampling("advantage.judgments=prefix", "verifier=null"),
      await sampling("rewards.verifier_steps=prefix"),
    ];
    assert.ok(values > 2 * without && paid === values, `${without}, ${values}, ${paid}`);
    const frozen = ["rewards.verifier_steps=prefix", "verifier.trained=false"];
    assert.equal(await sampling(...frozen), without, "nobody is paid");
  });
});

onEveryGpu("memory plan: fine-tuning is planned as well", async (gpu) => {
  await withTinyProject(gpu, async ({ folder, sftConfig: file }) => {
    const set = ["loss.micro_batch_tokens=400", "batch_size=32", "reduction.shards=2"];
    const config = loadSftConfig(file, { set });
    const plan = await planSftMemory(gpu, config);
    const { live } = await measured(gpu, async () => {
      const run = await SftRun.open(gpu, config);
      await train(run, RunFolder.at(join(folder, "sft")));
      run.close();
    });
    assert.ok(live <= plan.peakBytes && live >= 0.9 * plan.peakBytes, `${live}, ${plan.peakBytes}`);
    const moments = ({ resident }: MemoryPlan) =>
      resident.find(({ what }) => what.startsWith("optimizer moments"))?.bytes;
    const shares = [0, 1].map((rank) => planSftMemory(gpu, config, { rank, size: 2 }));
    const [first, second] = (await Promise.all(shares)).map(moments);
    // So small a model is one slice, which one rank has.
    assert.deepEqual([first, second], [moments(plan), undefined]);
    await assert.rejects(
      checkMemory(gpu, {
        config,
        limit: plan.peakBytes / 4e9,
        plan: (changed) => planSftMemory(gpu, changed),
        shrinks: sftShrinks,
      }),
      /may be taken \(memory_limit_gb\)/,
    );
  });
});

onEveryGpu("memory plan: what does not fit is refused with settings that do", async (gpu) => {
  await withTinyProject(gpu, async ({ config: file }) => {
    const config = loadTangoConfig(file, { set: ["rollout.batch_size=64"] });
    const live = gpu.pool.liveBytes;
    const whole = await planTangoMemory(gpu, config);
    const limit = 0.75 * whole.peakBytes;
    const limited = { ...config, memory_limit_gb: limit / 1e9 };
    await assert.rejects(checkMemory(gpu, plannedTango(gpu, limited)), (error: Error) => {
      assert.equal(error.name, "UserError");
      assert.match(
        error.message,
        /takes up to .* may be taken \(memory_limit_gb\)\. It fits, with/,
      );
      const set = [...error.message.matchAll(/--set (?:'([^']+)'|(\S+))/g)]
        .map(([, quoted, plain]) => quoted ?? plain);
      const smaller = loadTangoConfig(file, { set: ["rollout.batch_size=64", ...set] });
      checks.push(
        planTangoMemory(gpu, smaller).then(({ peakBytes }) => assert.ok(peakBytes <= limit)),
      );
      return true;
    });
    await Promise.all(checks.splice(0));
    const hopeless = { ...config, memory_limit_gb: 1e-6 };
    await assert.rejects(
      checkMemory(gpu, plannedTango(gpu, hopeless)),
      /The smallest settings take .*; take shorter responses or a smaller model\./,
    );
    assert.equal(gpu.pool.liveBytes, live);
    const plan = await checkMemory(gpu, plannedTango(gpu, config));
    assert.equal(gpu.pool.budgetBytes, plan.peakBytes);
    gpu.pool.budgetBytes = Infinity;
    assert.match(formatMemoryPlan(plan), /weights of the generator: gradients/);
  });
});

const checks: Promise<void>[] = [];

Deno.test("memory: sizes in words, and what nvidia-smi prints", () => {
  assert.equal(formatBytes(1.234e9), "1.23 GB");
  assert.equal(formatBytes(45.61e6), "45.6 MB");
  assert.equal(formatBytes(14080), "15 kB");
  const table = "NVIDIA GeForce RTX 3090, 24576\nNVIDIA GeForce GTX 1050, 2048\n";
  assert.equal(parseNvidiaMemory(table, "NVIDIA GeForce RTX 3090", "total"), 24576 * 2 ** 20);
  assert.equal(parseNvidiaMemory(table, "NVIDIA H100", "total"), null);
  assert.equal(parseNvidiaMemory("", "NVIDIA H100", "total"), null);
  // Which of two it is cannot be told: a plan keeps to the smaller one, and what is free may be the other's.
  const two = "NVIDIA H100, 0\nNVIDIA H100, 81559\nNVIDIA H100, [N/A]\n";
  assert.equal(parseNvidiaMemory(two, "NVIDIA H100", "total"), 0);
  assert.equal(parseNvidiaMemory(two, "NVIDIA H100", "free"), 81559 * 2 ** 20);
});
