/** Files of every family, damaged in 200 ways each: what cannot be read is refused by name, and nothing else happens. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { join } from "node:path";
import { UserError } from "../../../src/base/user_error.ts";
import type { Gpu } from "../../../src/gpu/gpu.ts";
import { joinBytes } from "../../../src/base/join_bytes.ts";
import type { FileContent } from "../../../src/model/weights/file_content.ts";
import { ggufModel } from "../../../src/model/weights/gguf_model.ts";
import { wholeModelFiles } from "../../../src/model/weights/model_files.ts";
import { loadModelFolder } from "../../../src/model/weights/model_folder.ts";
import { gpuOf } from "../../kernels/harness.ts";
import { withFolder } from "../../server/written_run.ts";
import { families, familyModel, ggufModels } from "../families.ts";
import { fewBytePairs as tokenizer } from "./byte_pairs.ts";

/** [0, 1) */
const share = fc.nat(2 ** 20 - 1).map((n) => n / 2 ** 20);

/** What may stand in the place of a value of config.json. */
const odd = fc.constantFrom<unknown>(
  null,
  true,
  -1,
  0,
  0.5,
  1e300,
  2 ** 31,
  "",
  "silu",
  [],
  [1, null],
  {},
  { type: "yarn" },
  { rope_type: "linear", factor: -1 },
);

const damage = fc.record({
  kind: fc.constantFrom("value", "config", "weights", "gguf"),
  /** Where, as a share of the keys or of the header's bytes. */
  places: fc.array(fc.tuple(share, fc.nat(255)), {
    minLength: 1,
    maxLength: 3,
  }),
  value: odd,
  /** The file ends there instead. */
  cut: fc.option(share, { freq: 8 }),
});

async function bytesOf(content: string | FileContent): Promise<Uint8Array<ArrayBuffer>> {
  if (typeof content === "string") return new TextEncoder().encode(content);
  const pieces: Uint8Array[] = [];
  for await (const piece of content.pieces()) pieces.push(new Uint8Array(piece));
  return joinBytes(pieces);
}

/** The bytes with some of the first `header` ones changed, mostly digits, or cut short. */
function changed(
  bytes: Uint8Array<ArrayBuffer>,
  header: number,
  places: readonly (readonly [number, number])[],
  cut: number | null,
): Uint8Array<ArrayBuffer> {
  if (cut !== null) return bytes.slice(0, Math.floor(cut * bytes.length));
  const result = bytes.slice();
  const first = result.subarray(0, header);
  const digits = Array.from(first.keys()).filter((at) => first[at] >= 48 && first[at] < 58);
  for (const [place, value] of places) {
    // A number that is another one is still JSON.
    if (value < 192) first[digits[Math.floor(place * digits.length)]] = 48 + value % 10;
    else first[Math.floor(place * first.length)] = value;
  }
  return result;
}

/** The first of a family's models that the format has a place for, as a GGUF file; null of Qwen2's odd shapes. */
async function ggufOf(gpu: Gpu, family: string): Promise<Uint8Array<ArrayBuffer> | null> {
  for (const name of Object.keys({ ...families.models, ...ggufModels })) {
    if (!name.startsWith(`${family}-`)) continue;
    const model = familyModel(gpu, name, { trained: false });
    const loaded = { model, tokenizer, stopTokens: [0] };
    const gguf = await ggufModel(loaded, "F32", name).then(bytesOf).catch(() => null);
    model.release();
    if (gguf) return gguf;
  }
  return null;
}

/** One model of each family: the last, whose shape is the oddest. */
const chosen = new Map(Object.keys(families.models).map((name) => [name.split("-")[0], name]));

for (const [family, name] of chosen) {
  Deno.test({
    name: `damaged files: ${family}`,
    // The device is opened once per process.
    sanitizeOps: false,
    sanitizeResources: false,
    fn: async () => {
      const gpu = await gpuOf("native");
      await withFolder(async (folder) => {
        const model = familyModel(gpu, name, { trained: false });
        const loaded = { model, tokenizer, stopTokens: [0] };
        const files = new Map<string, Uint8Array<ArrayBuffer>>();
        for (const [file, content] of Object.entries(wholeModelFiles(loaded))) {
          files.set(file, await bytesOf(content));
        }
        model.release();
        const gguf = await ggufOf(gpu, family);
        const refusals = new Map<string, number>();
        await fc.assert(
          fc.asyncProperty(damage, async ({ kind, places, value, cut }) => {
            for (const [file, bytes] of files) Deno.writeFileSync(join(folder, file), bytes);
            let path = folder;
            if (kind === "value") {
              const config = structuredClone(families.models[name]) as Record<string, unknown>;
              const keys = Object.keys(config);
              for (const [place] of places) config[keys[Math.floor(place * keys.length)]] = value;
              Deno.writeTextFileSync(join(folder, "config.json"), JSON.stringify(config));
            } else if (kind === "gguf" && gguf) {
              path = join(folder, "model.gguf");
              Deno.writeFileSync(path, changed(gguf, 16384, places, cut));
            } else {
              const file = kind === "config" ? "config.json" : "model.safetensors";
              const bytes = files.get(file) ?? assert.fail(`no ${file}`);
              Deno.writeFileSync(join(folder, file), changed(bytes, 4096, places, cut));
            }
            try {
              const back = await loadModelFolder(gpu, path, { trained: false, storage: "f32" });
              back.model.release();
            } catch (error) {
              assert.ok(error instanceof UserError, `${kind}: ${(error as Error).stack}`);
              assert.ok(error.message.includes(folder), error.message);
              refusals.set(kind, (refusals.get(kind) ?? 0) + 1);
            }
          }),
          { numRuns: 200 },
        );
        // Much of it is harmless, such as a byte of a weight's name in another case; most is not.
        for (const kind of ["value", "config", "weights", ...(gguf ? ["gguf"] : [])]) {
          assert.ok((refusals.get(kind) ?? 0) >= 5, `${kind}: ${refusals.get(kind)} refused`);
        }
      });
    },
  });
}
