import { UserError } from "../../base/user_error.ts";
import { fileErrors, readTextFileSync } from "../../platform/system/files.ts";
import { expectFile } from "./file_reading.ts";

/**
 * Reads a JSON object of a model folder.
 *
 * @throws UserError when the file is missing or holds something else
 */
export function readJson(path: string): Record<string, unknown> {
  const text = readFileText(path);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new UserError(`${path} is not JSON: ${cause instanceof Error ? cause.message : cause}`);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new UserError(`${path}: expected a JSON object, as transformers writes it`);
  }
  return value as Record<string, unknown>;
}

/**
 * Reads a text file of a model folder.
 *
 * @throws UserError when it is missing, no file, or unreadable
 */
export function readFileText(path: string): string {
  try {
    expectFile(path);
    return readTextFileSync(path);
  } catch (cause) {
    if (cause instanceof UserError) throw cause;
    throw new UserError(
      cause instanceof fileErrors.NotFound
        ? `${path} is missing; a model folder holds config.json, model.safetensors, ` +
          `tokenizer.json and tokenizer_config.json`
        : `${path} cannot be read: ${(cause as Error).message}`,
    );
  }
}
