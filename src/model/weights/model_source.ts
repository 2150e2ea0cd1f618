import { join } from "../../platform/system/paths.ts";
import { realPathSync, statSync } from "../../platform/system/files.ts";
import { UserError } from "../../base/user_error.ts";
import type { ModelConfig } from "../decoder/config.ts";
import { parseModelConfig } from "./config/config_json.ts";
import type { Json } from "./config/config_keys.ts";
import { ggufConfig } from "./gguf_config.ts";
import { openGguf } from "./gguf_file.ts";
import { ggufStopTokens, ggufTokenizer } from "./gguf_tokenizer.ts";
import { isReachable } from "./file_reading.ts";
import { readJson } from "./json_file.ts";
import { type AdapterFolder, isAdapterFolder, openAdapterFolder } from "./adapter_folder.ts";
import { openSafetensorsWeights } from "./safetensors_weights.ts";
import { textPart } from "./text_part.ts";
import { folderTokenizer } from "./tokenizer_files.ts";
import { checkTokenIds } from "../tokenizer/token_ids.ts";
import { Tokenizer } from "../tokenizer/tokenizer.ts";
import type { WeightFile } from "./weight_file.ts";

/** A model on disk: its shape is read, its weights are open, nothing of it is on the GPU. */
export interface ModelSource extends Disposable {
  /** Absolute path of the model, or of the base when there is an adapter. */
  readonly basePath: string;
  readonly config: ModelConfig;
  readonly weights: WeightFile;
  /** Null when the weights are all there is. */
  readonly adapter: Pick<AdapterFolder, "config" | "weights"> | null;
  /** Ids that end a response, as the files name them; none when they do not. */
  readonly stopTokens: readonly number[];
  /** @throws UserError when it is missing, unusable, or has tokens that the model does not know */
  tokenizer(): Tokenizer;
}

/**
 * Opens a Hugging Face folder, a GGUF file, or a folder with a PEFT adapter and with it its base.
 *
 * @throws UserError naming the file and key when something is missing, unsupported or does not fit
 */
export async function openModelSource(path: string): Promise<ModelSource> {
  if (!isReachable(path)) {
    throw new UserError(
      `There is no model ${path}; expected a folder with config.json and .safetensors, or a .gguf file.`,
    );
  }
  if (path.endsWith(".gguf")) return await openGgufSource(path);
  if (!statSync(path).isDirectory) {
    throw new UserError(
      `${path} is a file; expected a folder with config.json and .safetensors, or a .gguf file.`,
    );
  }
  return isAdapterFolder(path) ? await openAdapted(path) : openFolder(path);
}

async function openAdapted(folder: string): Promise<ModelSource> {
  const adapter = openAdapterFolder(folder);
  try {
    const { basePath } = adapter;
    if (isAdapterFolder(basePath)) {
      throw new UserError(
        `${adapter.file}: the base ${basePath} is an adapter itself; expected a whole model`,
      );
    }
    const base = await openModelSource(basePath);
    return {
      ...base,
      adapter,
      [Symbol.dispose]() {
        adapter[Symbol.dispose]();
        base[Symbol.dispose]();
      },
    };
  } catch (error) {
    adapter[Symbol.dispose]();
    throw error;
  }
}

async function openGgufSource(path: string): Promise<ModelSource> {
  const file = await openGguf(path);
  try {
    const config = ggufConfig(file);
    return {
      basePath: realPathSync(path),
      config,
      weights: file,
      adapter: null,
      stopTokens: ggufStopTokens(file),
      tokenizer() {
        const tokenizer = ggufTokenizer(file);
        checkTokenIds(tokenizer.definition, config.vocabularySize, path, "the embedding");
        return tokenizer;
      },
      [Symbol.dispose]: () => file[Symbol.dispose](),
    };
  } catch (error) {
    file[Symbol.dispose]();
    throw error;
  }
}

function openFolder(folder: string): ModelSource {
  const file = join(folder, "config.json");
  const json = readJson(file);
  const config = parseModelConfig(json, file);
  const weights = openTextWeights(folder, json);
  // The number of layers is checked before anything is made for each of them.
  if (config.layers > weights.tensors.size) {
    weights[Symbol.dispose]();
    throw new UserError(
      `${file}: num_hidden_layers is ${config.layers}; expected at most ${weights.tensors.size}, the tensors ` +
        `in ${weights.path}`,
    );
  }
  return {
    basePath: realPathSync(folder),
    config,
    weights,
    adapter: null,
    stopTokens: stopTokensOfFolder(folder),
    tokenizer: () => folderTokenizer(folder, config.vocabularySize),
    [Symbol.dispose]: () => weights[Symbol.dispose](),
  };
}

/** @throws UserError as `openSafetensorsWeights` and `textPart` do */
function openTextWeights(folder: string, json: Json): WeightFile {
  const file = openSafetensorsWeights(folder);
  try {
    return textPart(file, json);
  } catch (error) {
    file[Symbol.dispose]();
    throw error;
  }
}

/** generation_config.json, which a folder need not have, may name several. */
function stopTokensOfFolder(folder: string): number[] {
  const path = join(folder, "generation_config.json");
  if (!isReachable(path)) return [];
  const ids = [readJson(path).eos_token_id ?? []].flat();
  if (!ids.every((id): id is number => Number.isInteger(id))) {
    throw new UserError(
      `${path}: eos_token_id is ${JSON.stringify(ids)}; expected one token id or a list of them`,
    );
  }
  return ids;
}
