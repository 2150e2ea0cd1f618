/** Models of every family, saved and read back: as a folder for transformers and as a GGUF file. */

import assert from "node:assert/strict";
import { join } from "node:path";
import type { Gpu } from "../../../src/gpu/gpu.ts";
import { kindOf, type ModelConfig } from "../../../src/model/decoder/config.ts";
import { Tokenizer } from "../../../src/model/tokenizer/tokenizer.ts";
import type { FileContent } from "../../../src/model/weights/file_content.ts";
import { ggufModel } from "../../../src/model/weights/gguf_model.ts";
import { preTokenizers } from "../../../src/model/weights/gguf_tokenizer.ts";
import { wholeModelFiles } from "../../../src/model/weights/model_files.ts";
import { type LoadedModel, loadModelFolder } from "../../../src/model/weights/model_folder.ts";
import { writePiecesAtomically } from "../../../src/platform/files/atomic_file.ts";
import { onEveryGpu } from "../../kernels/harness.ts";
import { withFolder } from "../../server/written_run.ts";
import { families, familyModel } from "../families.ts";

const tokenizer = Tokenizer.fromJson(
  {
    version: "1.0",
    added_tokens: [{ id: 0, content: "<eos>", special: true }],
    normalizer: null,
    pre_tokenizer: preTokenizers["gpt-2"],
    post_processor: null,
    decoder: preTokenizers["gpt-2"],
    model: { type: "BPE", vocab: { "<eos>": 0, a: 1, b: 2, ab: 3 }, merges: [["a", "b"]] },
  },
  {
    tokenizer_class: "PreTrainedTokenizerFast",
    eos_token: "<eos>",
    chat_template: "{{ messages[-1].content }}",
  },
  "the test's tokenizer",
);

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
  }
  assert.deepEqual(found, weights);
  back.model.release();
}

/** What a GGUF file keeps of a configuration: factors in f32, and Mistral's models are Llama's. */
function asGguf(config: ModelConfig): ModelConfig {
  const architecture = config.architecture === "mistral" ? "llama" : config.architecture;
  const kinds = config.kinds.map(({ window, rotation: { scaling, ...rotation } }) => ({
    window,
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

const YARN = /no place for attention_factor, mscale or truncate/;

/** What llama.cpp's format has no place for, by the models' numbers and names. */
const refused: Readonly<Record<string, RegExp>> = {
  4: YARN,
  5: YARN,
  "smollm3-1": /no place for a layer 0 /,
  "smollm3-4": /no place for a layer 0 /,
  "gemma3-2": /no place for a layer 2 /,
  "gemma3-5": /no place for a layer 2 /,
};

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
      const [family, number] = name.split("-");
      // These have rotations of their own.
      const isPlain = family === "phi3" || family === "gemma3";
      const refusal = refused[name] ?? (isPlain ? undefined : refused[number]);
      if (refusal) await assert.rejects(written(), refusal);
      else if (number === "2" && !isPlain) {
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
