import assert from "node:assert/strict";
import { join } from "node:path";
import { loadSftConfig, loadTangoConfig } from "../../../src/run/config/load_config.ts";
import { planSftMemory } from "../../../src/run/memory/sft_memory_plan.ts";
import { planTangoMemory } from "../../../src/run/memory/tango_memory_plan.ts";
import { Gpu } from "../../../src/gpu/gpu.ts";
import { gpuOf } from "../../kernels/harness.ts";
import {
  publishedShapes,
  writeHollowGguf,
  writeHollowModel,
} from "../../../src/run/plan/hollow_model.ts";

/** What Vulkan drivers of hardware GPUs bind at least nowadays. */
const hardware = { maxStorageBufferBindingSize: 2 ** 31 - 4, maxBufferSize: 2 ** 31 - 4 };

/** Preset and the model whose shape it is for; a GGUF file keeps its blocks of 4 bits. */
const sizedFor8GB = {
  "smollm2-135m": "SmolLM2-135M-Instruct",
  "qwen2.5-0.5b": "Qwen2.5-0.5B",
  "qwen3-0.6b": "Qwen3-0.6B",
  "qwen2.5-1.5b": "Qwen2.5-1.5B",
  "lfm2-1.2b": "LFM2-1.2B",
  "qwen3.5-0.8b": "Qwen3.5-0.8B",
  "qwen3-4b-8gb": "Qwen3-4B-Q4_K_M.gguf",
  "gemma3-4b-8gb": "gemma-3-4b-Q4_K_M.gguf",
  "qwen2.5-7b-8gb": "Qwen2.5-7B-Q4_K_S.gguf",
};

Deno.test({
  name: "presets: those sized for 8 GB are planned to fit into it",
  sanitizeOps: false,
  sanitizeResources: false,
  fn: async () => {
    const { info } = await gpuOf("native");
    const folder = Deno.makeTempDirSync();
    try {
      const problems = join(folder, "problems.jsonl");
      // With the prompt templates, about as many characters as the presets allow tokens.
      const question = "x".repeat(100);
      const rows = Array.from({ length: 300 }, (_, n) => ({
        question: `${n}${question}`,
        answer: "a\n#### 1",
      }));
      Deno.writeTextFileSync(problems, rows.map((row) => JSON.stringify(row)).join("\n"));
      const data = `{path: ${problems}, format: gsm8k}`;
      for (const [preset, name] of Object.entries(sizedFor8GB)) {
        const model = join(folder, name);
        const shape = publishedShapes()[name.replace(/-Q4_K_[MS]\.gguf$/, "")];
        if (name.endsWith(".gguf")) await writeHollowGguf(model, shape);
        else writeHollowModel(model, shape);
        const set = [
          `data.train=[${data}]`,
          "data.held_out=[]",
          "data.maximum_prompt_tokens=1000",
        ];
        const train = loadTangoConfig(`configs/${preset}.yaml`, {
          set: [...set, `generator.model=${model}`, `verifier.model=${model}`],
        });
        const gpu = Gpu.rehearsalOf(info, hardware, { cacheDtype: train.cache_dtype });
        const plan = await planTangoMemory(gpu, train);
        const shared = plan.resident.filter(({ what }) => what.startsWith("weights"));
        assert.equal(shared.length, 1, "one copy of the base");
        assert.ok(plan.peakBytes < 8e9, `${preset}: ${plan.peakBytes / 1e9} GB`);
        const sft = loadSftConfig(`configs/${preset}-sft.yaml`, {
          set: [...set, `initial_model=${model}`],
        });
        const { peakBytes } = await planSftMemory(gpu, sft);
        assert.ok(peakBytes < 8e9, `${preset}-sft: ${peakBytes / 1e9} GB`);
        console.log(
          `${preset}: ${(plan.peakBytes / 1e9).toFixed(2)} GB, fine-tuning ${
            (peakBytes / 1e9).toFixed(2)
          } GB`,
        );
      }
    } finally {
      Deno.removeSync(folder, { recursive: true });
    }
  },
});
