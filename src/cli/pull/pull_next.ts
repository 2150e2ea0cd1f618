/** What to do with a model that has been fetched. */

import { join } from "node:path";
import { readJson } from "../../model/weights/json_file.ts";
import { exists } from "../../platform/files/atomic_file.ts";
import type { WantedFile } from "../../hub/listing.ts";
import { isRepositoryId, type Repository } from "../../hub/repository.ts";

/** A line with the command to run next; null when the files are no model. */
export function nextCommand(
  { kind }: Repository,
  files: readonly WantedFile[],
  folder: string,
): string | null {
  if (kind === "dataset") return null;
  const has = (name: string) => files.some(({ path }) => path === name);
  const gguf = files.find(({ path }) => path.endsWith(".gguf"));
  if (gguf !== undefined) return `Next: ./tango chat --model ${quote(join(folder, gguf.path))}`;
  if (has("adapter_config.json")) return fetchBase(folder);
  if (!has("config.json") || !has("tokenizer.json")) return null;
  return hasChatTemplate(folder)
    ? `Next: ./tango chat --model ${quote(folder)}`
    : `Next: ./tango generate --model ${quote(folder)} --raw "Once upon a time"`;
}

/** An adapter's configuration names its base by a path, which for the Hub's adapters is its name. */
function fetchBase(folder: string): string | null {
  const { base_model_name_or_path: base } = readJson(join(folder, "adapter_config.json"));
  if (typeof base !== "string" || !isRepositoryId(base)) return null;
  return exists(base)
    ? `Next: ./tango generate --model ${quote(folder)} --raw "Once upon a time"`
    : `Next: ./tango pull ${base} --to ${base}   (the adapter's base, where it is looked for)`;
}

function hasChatTemplate(folder: string): boolean {
  const settings = join(folder, "tokenizer_config.json");
  return exists(join(folder, "chat_template.jinja")) ||
    exists(settings) && readJson(settings).chat_template !== undefined;
}

/** The line is made to be copied into a shell, and names come from a server. */
function quote(path: string): string {
  return /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`;
}
