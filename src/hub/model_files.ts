/** Which files of a model's repository the engine needs. */

import { UserError } from "../base/user_error.ts";
import { parseModelConfig } from "../model/weights/config/config_json.ts";
import { parsePeftConfig } from "../model/weights/peft.ts";
import type { ListedFile, Listing } from "./listing.ts";

/** Reads a text file of the repository before anything is fetched to stay. */
export type ReadText = (file: ListedFile) => Promise<string>;

const tokenizer = ["tokenizer.json", "tokenizer_config.json"];
const optional = [
  "generation_config.json",
  "chat_template.jinja",
  "special_tokens_map.json",
];
const weights = "model.safetensors";
const weightsIndex = "model.safetensors.index.json";
const adapterConfig = "adapter_config.json";
const adapterWeights = "adapter_model.safetensors";

/**
 * Chooses the files, and reads the configuration to see that the engine can use them.
 *
 * @throws UserError when the repository holds no model that the engine can read
 */
export async function chooseModelFiles(listing: Listing, read: ReadText): Promise<ListedFile[]> {
  const { id } = listing.repository;
  const files = new Map(listing.files.map((file) => [file.path, file]));
  const adapter = files.get(adapterConfig);
  const config = files.get("config.json");
  const others = [...tokenizer, ...optional].flatMap((path) => files.get(path) ?? []);
  if (adapter !== undefined) {
    const file = files.get(adapterWeights);
    if (file === undefined) throw noWeights(listing, adapterWeights);
    parsePeftConfig(parseObject(await read(adapter), id, adapterConfig), `${id}/${adapterConfig}`);
    return [adapter, ...others, file];
  }
  const index = files.get(weightsIndex);
  const single = files.get(weights);
  if (single === undefined && index === undefined) throw noWeights(listing, weights);
  if (config === undefined) throw missing(id, "config.json");
  checkModelConfig(parseObject(await read(config), id, "config.json"), `${id}/config.json`);
  for (const path of tokenizer) if (!files.has(path)) throw missing(id, path);
  if (single !== undefined) return [config, ...others, single];
  if (index === undefined) throw noWeights(listing, weights);
  const shards = shardNames(parseObject(await read(index), id, weightsIndex), id)
    .map((name) => {
      const file = files.get(name);
      if (file === undefined) throw missing(id, name);
      return file;
    });
  return [config, ...others, index, ...shards];
}

function checkModelConfig(config: Record<string, unknown>, file: string): void {
  parseModelConfig(config, file);
  if (typeof config.quantization_config === "object" && config.quantization_config !== null) {
    const { quant_method: method } = config.quantization_config as Record<string, unknown>;
    throw new UserError(
      `${file}: the weights are quantised (quant_method ${
        JSON.stringify(method)
      }); expected F32, ` +
        `F16 or BF16. Fetch the model they were made from, or a GGUF file of it.`,
    );
  }
}

function shardNames(index: Record<string, unknown>, id: string): string[] {
  const { weight_map: map } = index;
  const names = typeof map === "object" && map !== null ? Object.values(map) : [];
  if (names.length === 0 || !names.every((name): name is string => typeof name === "string")) {
    throw new UserError(`${id}/${weightsIndex}: weight_map does not name the files of the weights`);
  }
  return [...new Set(names)].sort();
}

function parseObject(text: string, id: string, path: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) {
      return value as Record<string, unknown>;
    }
  } catch {
    // Reported below.
  }
  throw new UserError(`${id}/${path}: expected a JSON object, as transformers writes it`);
}

function missing(id: string, path: string): UserError {
  return new UserError(
    `${id} has no ${path}, without which the engine cannot use the model. --file fetches single ` +
      `files all the same.`,
  );
}

function noWeights({ repository: { id }, files }: Listing, expected: string): UserError {
  const named = (pattern: RegExp) => files.map(({ path }) => path).filter((p) => pattern.test(p));
  const gguf = named(/\.gguf$/i);
  if (gguf.length > 0) {
    return new UserError(
      `${id} holds no ${expected} but GGUF files; name one with --file:\n  ${gguf.join("\n  ")}`,
    );
  }
  const [pickled] = named(/\.(bin|pt|pth)$/i);
  return new UserError(
    pickled !== undefined
      ? `${id} holds its weights as ${pickled} only, which can run code when it is opened; expected ` +
        `${expected}. Look for a copy of the model with safetensors or as GGUF.`
      : `${id} holds no ${expected}; expected a model as transformers saves it. Is it a data set ` +
        `(--dataset)?`,
  );
}
