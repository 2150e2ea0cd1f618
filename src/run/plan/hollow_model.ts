import { basename, join } from "node:path";
import { characterTokenizer, characterTokenizerConfig } from "../../data/vocabulary.ts";
import { parseModelConfig } from "../../model/weights/config/config_json.ts";
import { parameterBlocks } from "../../model/decoder/layout.ts";

/** A model's config.json. */
export type PublishedShape = Readonly<Record<string, unknown>>;

const folder = "configs/models";

/** Shapes of models by their names, as their config.json on the Hub have them. */
export function publishedShapes(): Readonly<Record<string, PublishedShape>> {
  return Object.fromEntries(
    [...Deno.readDirSync(folder)].map(({ name }) => name).sort().map((name) => [
      basename(name, ".json"),
      JSON.parse(Deno.readTextFileSync(join(folder, name))) as PublishedShape,
    ]),
  );
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
  const chat_template = "{% for m in messages %}{{ m.content }}<eos>{% endfor %}";
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
