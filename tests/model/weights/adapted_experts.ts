/** Models with adapters on experts, for tests of their files. */

import assert from "node:assert/strict";
import type { Gpu } from "../../../src/gpu/gpu.ts";
import { type LoraConfig } from "../../../src/model/decoder/lora.ts";
import type { Model } from "../../../src/model/decoder/model.ts";
import type { FileContent } from "../../../src/model/weights/file_content.ts";
import { writePiecesAtomically } from "../../../src/platform/files/atomic_file.ts";
import { type ExpertAdapter, expertAdapterConfig, expertAdapters } from "../expert_adapters.ts";
import { familyModel, setFamilyAdapter } from "../families.ts";

/** Writes a file of a model. */
export async function write(path: string, content: string | FileContent): Promise<void> {
  if (typeof content === "string") return Deno.writeTextFileSync(path, content);
  await writePiecesAtomically({ path, bytes: content.bytes, next: "" }, content.pieces());
}

/** A model with an adapter, whose numbers are those of the fixtures or zeros. */
export function adapted(gpu: Gpu, name: ExpertAdapter, isSet: boolean, config?: LoraConfig): Model {
  const base = familyModel(gpu, expertAdapters[name], { trained: false });
  const model = base.adapted({
    config: config ?? expertAdapterConfig(name, base.config),
    ...{ basePath: name.replace("-fused", ""), trained: false },
  });
  base.release();
  if (isSet) setFamilyAdapter(model);
  return model;
}

export const readAdapter = ({ adapter }: Model) => {
  assert.ok(adapter);
  return adapter.parameters.read();
};
