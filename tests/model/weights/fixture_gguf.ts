/** The random models of the tests as GGUF files. */

import { join } from "node:path";
import { fixtureFolder, type FixtureName } from "../fixture.ts";
import { readTensors } from "../safetensors_tensors.ts";
import { encodeGguf, type GgufTensor, type GgufValue } from "./gguf_writer.ts";

const ggufNames: readonly (readonly [RegExp, string])[] = [
  [/^model\.embed_tokens/, "token_embd"],
  [/^model\.norm/, "output_norm"],
  [/^lm_head/, "output"],
  [/^model\.layers\.(\d+)\.input_layernorm/, "blk.$1.attn_norm"],
  [/^model\.layers\.(\d+)\.post_attention_layernorm/, "blk.$1.ffn_norm"],
  [/^model\.layers\.(\d+)\.self_attn\.([qk])_norm/, "blk.$1.attn_$2_norm"],
  [/^model\.layers\.(\d+)\.self_attn\.o_proj/, "blk.$1.attn_output"],
  [/^model\.layers\.(\d+)\.self_attn\.([qkv])_proj/, "blk.$1.attn_$2"],
  [/^model\.layers\.(\d+)\.mlp\.(gate|up|down)_proj/, "blk.$1.ffn_$2"],
];

const ggufName = (name: string) =>
  ggufNames.reduce((text, [pattern, replacement]) => text.replace(pattern, replacement), name);

/** llama.cpp's permutation: reshape(heads, 2, D/2, columns), swap the middle two. */
export function interleave(data: Float32Array, columns: number, headDim: number): Float32Array {
  const result = new Float32Array(data.length);
  for (let row = 0; row < data.length / columns; row++) {
    const head = Math.floor(row / headDim), within = row % headDim;
    const half = Math.floor(within / (headDim / 2)), place = within % (headDim / 2);
    const target = head * headDim + place * 2 + half;
    result.set(data.subarray(row * columns, (row + 1) * columns), target * columns);
  }
  return result;
}

/** What a GGUF file is encoded from. */
export interface GgufParts {
  readonly metadata: Record<string, GgufValue>;
  readonly tensors: GgufTensor[];
}

/** "<s>", the printable ASCII characters, a space, the end of a line, "ab" and names for what is left. */
function vocabulary(size: number): string[] {
  const characters = Array.from({ length: 94 }, (_, place) => String.fromCharCode(33 + place));
  const named = ["<s>", ...characters, "Ġ", "Ċ", "ab"];
  const rest = Array.from({ length: size - named.length }, (_, place) => `<unused${place}>`);
  return [...named, ...rest];
}

/** A fixture as llama.cpp's converter would write it in F32, with a token for each printable character. */
export function ggufOf(name: FixtureName): GgufParts {
  const folder = fixtureFolder(name);
  const config = JSON.parse(Deno.readTextFileSync(join(folder, "config.json")));
  const tensors = readTensors(join(folder, "model.safetensors"));
  const tokens = vocabulary(config.vocab_size);
  const headDim = config.head_dim ?? config.hidden_size / config.num_attention_heads;
  const key = (rest: string) => `${name}.${rest}`;
  return {
    metadata: {
      "general.architecture": name,
      [key("block_count")]: config.num_hidden_layers,
      [key("context_length")]: config.max_position_embeddings,
      [key("embedding_length")]: config.hidden_size,
      [key("feed_forward_length")]: config.intermediate_size,
      [key("attention.head_count")]: config.num_attention_heads,
      [key("attention.head_count_kv")]: config.num_key_value_heads,
      [key("attention.key_length")]: headDim,
      [key("attention.layer_norm_rms_epsilon")]: config.rms_norm_eps,
      [key("rope.freq_base")]: config.rope_parameters.rope_theta,
      "tokenizer.ggml.model": "gpt2",
      "tokenizer.ggml.pre": "default",
      "tokenizer.ggml.tokens": tokens,
      "tokenizer.ggml.token_type": { integers: tokens.map((_, id) => id === 0 ? 3 : 1) },
      "tokenizer.ggml.merges": ["a b"],
      "tokenizer.ggml.eos_token_id": 0,
    },
    tensors: Object.entries(tensors).map(([tensor, { shape, data }]): GgufTensor => {
      const values = name === "llama" && /[qk]_proj/.test(tensor)
        ? interleave(data as Float32Array, shape.at(1) ?? 1, headDim)
        : data as Float32Array;
      return {
        name: ggufName(tensor),
        dimensions: shape.toReversed(),
        type: 0,
        data: new Uint8Array(values.buffer, values.byteOffset, values.byteLength),
      };
    }),
  };
}

/** Writes a fixture that answers to what it is told; returns the file's path. */
export function writeChattingGguf(folder: string): string {
  const { metadata, tensors } = ggufOf("llama");
  const path = join(folder, "chatting.gguf");
  const template = "{{ messages[-1].content }}";
  Deno.writeFileSync(
    path,
    encodeGguf({ ...metadata, "tokenizer.chat_template": template }, tensors),
  );
  return path;
}
