/** Translates the kernels and prints what failed; started by `translate`. */

import { reportError } from "../../../src/cli/program.ts";
import { reportTranslation, type TranslationOptions } from "./report.ts";

try {
  await reportTranslation(JSON.parse(Deno.args[0]) as TranslationOptions);
} catch (error) {
  Deno.exitCode = reportError(error);
}
