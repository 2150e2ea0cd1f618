/** The files that a model is saved as. */

import { modelConfigJson } from "./config/config_json.ts";
import type { NamedTensor } from "../decoder/parameters.ts";
import { float32ToBfloat16, float32ToFloat16 } from "../decoder/half_precision.ts";
import type { FileContent } from "./file_content.ts";
import type { LoadedModel } from "./model_folder.ts";
import { peftConfigJson } from "./peft.ts";
import { peftTensors } from "./peft_experts.ts";
import { encodeSafetensors, type TensorStream } from "./safetensors.ts";

/** Contents by file name; weights are read from the GPU when they are written. */
export type ModelFiles = Readonly<Record<string, string | FileContent>>;

const json = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`;

/** Number formats that weights are saved in, by transformers' names. */
export const savedTypes = {
  float32: { dtype: "F32", convert: (data: Float32Array) => data },
  float16: { dtype: "F16", convert: float32ToFloat16 },
  bfloat16: { dtype: "BF16", convert: float32ToBfloat16 },
} as const;
export type SavedType = keyof typeof savedTypes;

function encode(
  named: ReadonlyMap<string, NamedTensor>,
  type: SavedType = "float32",
): FileContent {
  const tensors = [...named].map(([name, tensor]) => [name, saved(tensor, type)]);
  return encodeSafetensors(Object.fromEntries(tensors), { format: "pt" });
}

function saved({ shape, pieces }: NamedTensor, type: SavedType): TensorStream {
  const { dtype, convert } = savedTypes[type];
  return {
    dtype,
    shape,
    async *pieces() {
      for await (const piece of pieces()) yield convert(piece);
    },
  };
}

/**
 * The files of a model folder that `transformers` opens, or of an adapter's that `peft` opens.
 */
export function modelFiles(loaded: LoadedModel): ModelFiles {
  const { adapter, config } = loaded.model;
  return adapter === null ? wholeModelFiles(loaded) : {
    "adapter_config.json": json(peftConfigJson(adapter.config, adapter.basePath, config)),
    ...tokenizerFiles(loaded),
    "adapter_model.safetensors": encode(peftTensors(config, adapter.config, adapter.parameters)),
  };
}

const tokenizerFiles = ({ tokenizer }: LoadedModel) => ({
  "tokenizer.json": json(tokenizer.definition),
  "tokenizer_config.json": json(tokenizer.settings),
});

/** The files of a Hugging Face folder with all weights of a model, those of its base where it has an adapter. */
export function wholeModelFiles(loaded: LoadedModel, type: SavedType = "float32"): ModelFiles {
  const { model, tokenizer, stopTokens } = loaded;
  const tokens = {
    bos: tokenizer.specialToken("bos_token"),
    eos: tokenizer.specialToken("eos_token"),
    pad: tokenizer.specialToken("pad_token"),
  };
  return {
    "config.json": json({ ...modelConfigJson(model.config, tokens), torch_dtype: type }),
    ...(stopTokens.length > 1
      ? { "generation_config.json": json({ eos_token_id: stopTokens }) }
      : {}),
    ...tokenizerFiles(loaded),
    "model.safetensors": encode(model.parameters.tensors(), type),
  };
}
