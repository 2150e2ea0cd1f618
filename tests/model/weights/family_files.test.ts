/** Models of every family, saved and read back: as a folder for transformers and as a GGUF file. */

import assert from "node:assert/strict";
import { join } from "node:path";
import type { Gpu } from "../../../src/gpu/gpu.ts";
import { kindOf, type ModelConfig } from "../../../src/model/decoder/config.ts";
import type { FileContent } from "../../../src/model/weights/file_content.ts";
import { ggufModel } from "../../../src/model/weights/gguf_model.ts";
import { wholeModelFiles } from "../../../src/model/weights/model_files.ts";
import { type LoadedModel, loadModelFolder } from "../../../src/model/weights/model_folder.ts";
import { writePiecesAtomically } from "../../../src/platform/files/atomic_file.ts";
import { onEveryGpu } from "../../kernels/harness.ts";
import { withFolder } from "../../server/written_run.ts";
import { families, familyModel } from "../families.ts";
import { largestDifference } from "../fixture.ts";
import { fewBytePairs as tokenizer } from "./byte_pairs.ts";

async function write(path: string, content: string | FileContent): Promise<void> {
  if (typeof content === "string") return Deno.writeTextFileSync(path, content);
  await writePiecesAtomically({ path, bytes: content.bytes, next: "" }, content.pieces());
}

/** The same with a kind for each layer. */
const layerByLayer = (config: ModelConfig): ModelConfig => ({
  ...config,
  kinds: Array.from({ length: config.layers }, (_, i) => kindOf(config, i)),
});

async function assertRead(
  gpu: Gpu,
  path: string,
  { model }: LoadedModel,
  expected: ModelConfig,
): Promise<void> {
  const back = await loadModelFolder(gpu, path, { trained: false, storage: "f32" });
  assert.deepEqual(layerByLayer(back.model.config), layerByLayer(expected));
  const [found, weights] = [await back.model.parameters.read(), await model.parameters.read()];
  if (path.endsWith(".gguf") && model.config.norms.fromOne) {
    // The file has 1 added to norms, and what multiplies is the same.
    for (const named of [found, weights]) {
      for (const name of Object.keys(named).filter((name) => name.endsWith("norm.weight"))) {
        named[name] = named[name].map((weight) => 1 + weight);
      }
    }
    // And -exp of a DeltaNet's decays, relatively rounded: half a unit of f32, and of the logarithm.
    for (const name of Object.keys(weights).filter((name) => name.endsWith(".A_log"))) {
      assert.ok(largestDifference(found[name], weights[name]) <= 2 ** -23, name);
      found[name] = weights[name];
    }
  }
  assert.deepEqual(found, weights);
  back.model.release();
}

/** What a GGUF file keeps of a configuration: factors in f32, and Mistral's models are Llama's. */
function asGguf(config: ModelConfig): ModelConfig {
  const architecture = config.architecture === "mistral" ? "llama" : config.architecture;
  const kinds = config.kinds.map(({ rotation: { scaling, ...rotation }, ...kind }) => ({
    ...kind,
    rotation: {
      ...rotation,
      scaling: scaling?.type === "longrope"
        ? {
          ...scaling,
          divisors: scaling.divisors.map(Math.fround),
          magnitude: Math.fround(scaling.magnitude),
        }
        : scaling,
    },
  }));
  return { ...config, architecture, kinds };
}

/** What llama.cpp's format has no place for. */
function refusal(
  name: string,
  { architecture, biases, kinds, ...sizes }: ModelConfig,
): RegExp | null {
  const { heads, headDim, hiddenSize } = sizes;
  const isPlain = architecture === "llama" || architecture === "mistral" ||
    architecture === "granite";
  const [{ rotation: { scaling } }] = kinds;
  if (!isPlain && architecture !== "qwen2" && biases.qkv) return /no place for these biases/;
  if (!isPlain && biases.feedForward) return /no place for these biases/;
  const cutsWidth = ["qwen2", "phi3", "lfm2", "lfm2_moe"].includes(architecture);
  if (cutsWidth && heads * headDim !== hiddenSize) {
    return /no place for heads of \d+ in (qwen2|phi3|lfm2|lfm2moe)/;
  }
  if (/olmoe-[13]/.test(name)) return /no place for key and value heads that queries share/;
  if (name === "qwen3_5-0") return /no place for a model without attention/;
  if (name === "qwen3_5-3") return /no place for layers of attention other than every nth/;
  if (name === "qwen3_5-4") return /no place for a model without DeltaNets in qwen35/;
  if (name === "qwen35moe-0") return /no place for a model without attention/;
  if (name === "qwen35moe-4") return /no place for a model without DeltaNets in qwen35moe/;
  if (architecture === "qwen3_5_text") {
    return /no place for heads of \d+ numbers in keys and of \d+ in/;
  }
  if (name === "lfm2moe-0") return /no place for a model without convolutions in lfm2moe/;
  if (name === "lfm2moe-3") return /no place for a choice of experts without a bias in lfm2moe/;
  if (name === "qwen3moe-1") return /no place for layers without experts in qwen3moe/;
  if (kinds.every(({ taps }) => taps !== undefined)) {
    return /no place for a model without attention/;
  }
  if (/smollm3-[14]/.test(name)) return /no place for a layer 0 /;
  if (name === "gemma2-3") return /no place for a head of its own/;
  if (/gemma2-[25]/.test(name)) return /no place for a query_pre_attn_scalar of its own/;
  if (/gemma[23]-[25]/.test(name)) return /no place for a query_pre_attn_scalar of its own/;
  if (scaling?.type === "llama3" && !isPlain) return /no place for Llama 3\.1's scaling/;
  return /-[45]/.test(name) && scaling?.type === "yarn"
    ? /no place for a YaRN rotation with other/
    : null;
}

for (const name of Object.keys(families.models)) {
  onEveryGpu(`families: ${name} is read as it was saved`, async (gpu) => {
    await withFolder(async (folder) => {
      const model = familyModel(gpu, name, { trained: false });
      const loaded: LoadedModel = { model, tokenizer, stopTokens: [0] };
      for (const [file, content] of Object.entries(wholeModelFiles(loaded))) {
        await write(join(folder, file), content);
      }
      await assertRead(gpu, folder, loaded, model.config);
      const path = join(folder, "model.gguf");
      const written = async () => await write(path, await ggufModel(loaded, "F32", name));
      const refused = refusal(name, model.config);
      if (refused) await assert.rejects(written(), refused);
      else if (model.config.kinds[0].rotation.scaling?.type === "llama3") {
        // The format has what the scaling comes to, and here it is for another context than Llama 3.1's.
        await written();
        const options = { trained: false, storage: "f32" } as const;
        await assert.rejects(
          loadModelFolder(gpu, path, options),
          /not the rotary scaling of Llama/,
        );
      } else {
        await written();
        await assertRead(gpu, path, loaded, asGguf(model.config));
      }
      model.release();
    });
  });
}
