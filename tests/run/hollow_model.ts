import { join } from "node:path";
import { characterTokenizer, characterTokenizerConfig } from "../../src/data/vocabulary.ts";
import { parseModelConfig } from "../../src/model/decoder/config.ts";
import { parameterBlocks } from "../../src/model/decoder/layout.ts";

/** The parts of config.json in which published models differ. */
export interface PublishedShape {
  readonly model_type: "llama" | "qwen2" | "qwen3";
  readonly hidden_size: number;
  readonly intermediate_size: number;
  readonly num_hidden_layers: number;
  readonly num_attention_heads: number;
  readonly num_key_value_heads: number;
  readonly head_dim?: number;
  readonly vocab_size: number;
  readonly max_position_embeddings: number;
  readonly rope_theta: number;
  readonly tie_word_embeddings: boolean;
}

/** As the models' config.json on the Hub have them. */
export const publishedShapes: Readonly<Record<string, PublishedShape>> = {
  "SmolLM2-135M-Instruct": {
    model_type: "llama",
    hidden_size: 576,
    intermediate_size: 1536,
    num_hidden_layers: 30,
    num_attention_heads: 9,
    num_key_value_heads: 3,
    vocab_size: 49152,
    max_position_embeddings: 8192,
    rope_theta: 100000,
    tie_word_embeddings: true,
  },
  "Qwen2.5-0.5B": {
    model_type: "qwen2",
    hidden_size: 896,
    intermediate_size: 4864,
    num_hidden_layers: 24,
    num_attention_heads: 14,
    num_key_value_heads: 2,
    vocab_size: 151936,
    max_position_embeddings: 32768,
    rope_theta: 1e6,
    tie_word_embeddings: true,
  },
  "Qwen3-0.6B": {
    model_type: "qwen3",
    hidden_size: 1024,
    intermediate_size: 3072,
    num_hidden_layers: 28,
    num_attention_heads: 16,
    num_key_value_heads: 8,
    head_dim: 128,
    vocab_size: 151936,
    max_position_embeddings: 40960,
    rope_theta: 1e6,
    tie_word_embeddings: true,
  },
  "Qwen2.5-1.5B": {
    model_type: "qwen2",
    hidden_size: 1536,
    intermediate_size: 8960,
    num_hidden_layers: 28,
    num_attention_heads: 12,
    num_key_value_heads: 2,
    vocab_size: 151936,
    max_position_embeddings: 131072,
    rope_theta: 1e6,
    tie_word_embeddings: true,
  },
  "Qwen2.5-3B": {
    model_type: "qwen2",
    hidden_size: 2048,
    intermediate_size: 11008,
    num_hidden_layers: 36,
    num_attention_heads: 16,
    num_key_value_heads: 2,
    vocab_size: 151936,
    max_position_embeddings: 32768,
    rope_theta: 1e6,
    tie_word_embeddings: true,
  },
  "Qwen2.5-7B": {
    model_type: "qwen2",
    hidden_size: 3584,
    intermediate_size: 18944,
    num_hidden_layers: 28,
    num_attention_heads: 28,
    num_key_value_heads: 4,
    vocab_size: 152064,
    max_position_embeddings: 131072,
    rope_theta: 1e6,
    tie_word_embeddings: false,
  },
};

/**
 * Writes a model folder that can be planned with and not loaded: its weights are a hole in the file. The
 * tokenizer knows single characters.
 */
export function writeHollowModel(folder: string, shape: PublishedShape): void {
  const architecture = { llama: "Llama", qwen2: "Qwen2", qwen3: "Qwen3" }[shape.model_type];
  const config = {
    ...shape,
    architectures: [`${architecture}ForCausalLM`],
    hidden_act: "silu",
    rms_norm_eps: 1e-6,
    torch_dtype: "bfloat16",
  };
  const json = (value: unknown) => JSON.stringify(value);
  Deno.mkdirSync(folder, { recursive: true });
  Deno.writeTextFileSync(join(folder, "config.json"), json(config));
  Deno.writeTextFileSync(join(folder, "tokenizer.json"), json(characterTokenizer()));
  const chat_template = "{% for m in messages %}{{ m.content }}<eos>{% endfor %}";
  Deno.writeTextFileSync(
    join(folder, "tokenizer_config.json"),
    json({ ...characterTokenizerConfig(), chat_template }),
  );
  const header: Record<string, unknown> = {};
  let bytes = 0;
  for (const { parts } of parameterBlocks(parseModelConfig(config, "config.json"))) {
    for (const { name, shape, size } of parts) {
      header[name] = { dtype: "BF16", shape, data_offsets: [bytes, bytes += 2 * size] };
    }
  }
  const text = new TextEncoder().encode(json(header));
  const begin = new Uint8Array(8 + text.length);
  new DataView(begin.buffer).setBigUint64(0, BigInt(text.length), true);
  begin.set(text, 8);
  const file = join(folder, "model.safetensors");
  Deno.writeFileSync(file, begin);
  Deno.truncateSync(file, begin.length + bytes);
}
