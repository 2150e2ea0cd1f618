import { basename, join } from "node:path";
import { characterTokenizer, characterTokenizerConfig } from "../../data/vocabulary.ts";
import { parseModelConfig } from "../../model/weights/config/config_json.ts";
import { Tokenizer } from "../../model/tokenizer/tokenizer.ts";
import { ggufFile } from "../../model/weights/gguf_model.ts";
import { preTokenizers } from "../../model/weights/gguf_tokenizer.ts";
import { parameterBlocks } from "../../model/decoder/layout.ts";

/** A model's config.json. */
export type PublishedShape = Readonly<Record<string, unknown>>;

const folder = "configs/models";

const chat_template = "{% for m in messages %}{{ m.content }}<eos>{% endfor %}";

/** Shapes of models by their names, as their config.json on the Hub have them. */
export function publishedShapes(): Readonly<Record<string, PublishedShape>> {
  return Object.fromEntries(
    [...Deno.readDirSync(folder)].map(({ name }) => name).sort().map((name) => [
      basename(name, ".json"),
      JSON.parse(Deno.readTextFileSync(join(folder, name))) as PublishedShape,
    ]),
  );
}

/** Letters of bytes in byte-level vocabularies: those that are printed stand for themselves. */
const byteLetters = Array.from({ length: 256 }, (_, byte) => byte).reduce(
  ({ letters, others }, byte) => {
    const isPrinted = byte > 32 && byte < 127 || byte > 160 && byte !== 173;
    letters.push(String.fromCharCode(isPrinted ? byte : 256 + others));
    return { letters, others: isPrinted ? others : others + 1 };
  },
  { letters: [] as string[], others: 0 },
).letters;

/** A tokenizer that knows single bytes, in the form that GGUF files have. */
function byteTokenizer(): Tokenizer {
  const id = 256;
  const flags = { single_word: false, lstrip: false, rstrip: false, normalized: false };
  return Tokenizer.fromJson(
    {
      version: "1.0",
      added_tokens: [{ id, content: "<eos>", ...flags, special: true }],
      normalizer: null,
      pre_tokenizer: preTokenizers["gpt-2"],
      post_processor: null,
      decoder: preTokenizers["gpt-2"],
      model: {
        type: "BPE",
        vocab: Object.fromEntries([...byteLetters, "<eos>"].map((letter, at) => [letter, at])),
        merges: [],
      },
    },
    { tokenizer_class: "PreTrainedTokenizerFast", eos_token: "<eos>", chat_template },
    "a stand-in's tokenizer",
  );
}

/**
 * Whether llama.cpp's Q4_K_M has a matrix in more bits, which take 8 here: values and the down projection of the
 * outermost layers and of every third one between them.
 */
function hasMoreBits(tensor: string, layers: number): boolean {
  const match = /\.(\d+)\.(?:mlp\.down_proj|feed_forward\.w2|self_attn\.v_proj)\.weight$/.exec(
    tensor,
  );
  if (!match) return false;
  const layer = Number(match[1]), eighth = Math.floor(layers / 8);
  return layer < eighth || layer >= Math.floor(7 * layers / 8) || (layer - eighth) % 3 === 2;
}

/**
 * As `writeHollowModel`, a GGUF file in blocks of 4 bits, embedding and head in 8; with Q4_K_M in its name also the
 * matrices that these files have in more.
 */
export async function writeHollowGguf(path: string, shape: PublishedShape): Promise<void> {
  const config = parseModelConfig(shape, path);
  const tensors = parameterBlocks(config).flatMap(({ tensors }) => tensors).map((
    { name, shape },
  ) =>
    [name, {
      shape,
      pieces: () => {
        throw new Error(`${path} has no weights`);
      },
    }] as const
  );
  const isMixed = /Q4_K_M/i.test(basename(path));
  const parts = {
    ...{ config, tensors, tokenizer: byteTokenizer(), stopTokens: [256] },
    in8Bits: (tensor: string) => isMixed && hasMoreBits(tensor, config.layers),
  };
  const content = await ggufFile(parts, "Q4_K", basename(path));
  // The header is the first piece.
  const { value } = await content.pieces().next();
  Deno.writeFileSync(path, value ?? new Uint8Array());
  Deno.truncateSync(path, content.bytes);
}

/**
 * Writes a model folder that can be planned with and not loaded: its weights are a hole in the file. The
 * tokenizer knows single characters.
 */
export function writeHollowModel(folder: string, shape: PublishedShape): void {
  const json = (value: unknown) => JSON.stringify(value);
  Deno.mkdirSync(folder, { recursive: true });
  Deno.writeTextFileSync(join(folder, "config.json"), json(shape));
  Deno.writeTextFileSync(join(folder, "tokenizer.json"), json(characterTokenizer()));
  Deno.writeTextFileSync(
    join(folder, "tokenizer_config.json"),
    json({ ...characterTokenizerConfig(), chat_template }),
  );
  const header: Record<string, unknown> = {};
  let bytes = 0;
  for (const { tensors } of parameterBlocks(parseModelConfig(shape, join(folder, "config.json")))) {
    for (const { name, shape, size } of tensors) {
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
