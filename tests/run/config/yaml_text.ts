/** Configurations given as text. */

import assert from "node:assert/strict";
import { UserError } from "../../../src/base/user_error.ts";
import { type ConfigOverrides, loadTangoConfig } from "../../../src/run/config/load_config.ts";

/** The least that a configuration of Tango holds. */
export const MINIMAL = "generator:\n  model: weights/g\nverifier:\n  model: weights/v\n";

/** Runs `body` with the path of a YAML file of this text, then removes it. */
export function withFile<Result>(text: string, body: (path: string) => Result): Result {
  const path = Deno.makeTempFileSync({ suffix: ".yaml" });
  try {
    Deno.writeTextFileSync(path, text);
    return body(path);
  } finally {
    Deno.removeSync(path);
  }
}

/** The message of the UserError that loading gives, with the temporary path shortened to FILE. */
export function problem(text: string, overrides?: ConfigOverrides): string {
  return withFile(text, (path) => {
    try {
      loadTangoConfig(path, overrides);
    } catch (error) {
      assert.ok(error instanceof UserError, String(error));
      return error.message.replaceAll(path, "FILE");
    }
    throw new Error("the configuration was accepted");
  });
}
