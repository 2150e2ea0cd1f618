import { UserError } from "../../base/user_error.ts";

/**
 * Reads a JSON object of a model folder.
 *
 * @throws UserError when the file is missing, cannot be read or holds something else
 */
export function readJson(path: string): Record<string, unknown> {
  let text: string;
  try {
    text = Deno.readTextFileSync(path);
  } catch (cause) {
    if (cause instanceof Deno.errors.NotFound) {
      throw new UserError(
        `${path} is missing; a model folder holds config.json, model.safetensors, ` +
          `tokenizer.json and tokenizer_config.json`,
      );
    }
    throw new UserError(`${path} cannot be read: ${(cause as Error).message}`);
  }
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
