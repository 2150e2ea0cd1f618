import { basename, dirname, join } from "../../platform/system/paths.ts";
import { UserError } from "../../base/user_error.ts";
import { checkTokenIds, largestTokenId } from "../tokenizer/token_ids.ts";
import { Tokenizer } from "../tokenizer/tokenizer.ts";
import { isReachable } from "./file_reading.ts";
import { readFileText, readJson } from "./json_file.ts";

/** Most tokens of a new model: with more, a file's ids are rather wrong than many. */
const MOST_TOKENS = 2 ** 20;

/**
 * The tokenizer of a model folder.
 *
 * @param vocabularySize of the model, from its config.json
 * @throws UserError when its files are missing or unsound, or have tokens that the model does not know
 */
export function folderTokenizer(folder: string, vocabularySize: number): Tokenizer {
  const path = join(folder, "tokenizer.json");
  const settings = settingsIn(folder);
  const definition = readJson(path);
  checkTokenIds(definition, vocabularySize, path, "vocab_size in config.json");
  return Tokenizer.fromJson(definition, settings, path);
}

/**
 * A tokenizer without a model, and how many tokens a model of its own has to know.
 *
 * @param path of a tokenizer.json, with tokenizer_config.json beside it, or of a folder with both
 * @throws UserError when a file is missing or unsound
 */
export function loneTokenizer(
  path: string,
): { readonly tokenizer: Tokenizer; readonly vocabularySize: number } {
  const isFile = basename(path).endsWith(".json");
  const folder = isFile ? dirname(path) : path;
  const file = isFile ? path : join(path, "tokenizer.json");
  if (!isReachable(file)) {
    throw new UserError(`${file} is missing; expected a tokenizer.json, or a folder with one.`);
  }
  const definition = readJson(file);
  checkTokenIds(definition, MOST_TOKENS, file, "the most tokens of a new model");
  const vocabularySize = largestTokenId(definition) + 1;
  if (vocabularySize === 0) throw new UserError(`${file} has no tokens; expected model.vocab.`);
  if (!isReachable(join(folder, "tokenizer_config.json"))) {
    throw new UserError(
      `${
        join(folder, "tokenizer_config.json")
      } is missing; it names the eos_token that ends a response, such as ` +
        `{"eos_token": "</s>"}.`,
    );
  }
  return { tokenizer: Tokenizer.fromJson(definition, settingsIn(folder), file), vocabularySize };
}

/** tokenizer_config.json; newer folders have the chat template in a file of its own. */
function settingsIn(folder: string): Record<string, unknown> {
  const settings = readJson(join(folder, "tokenizer_config.json"));
  const file = join(folder, "chat_template.jinja");
  return isReachable(file) ? { ...settings, chat_template: readFileText(file) } : settings;
}
