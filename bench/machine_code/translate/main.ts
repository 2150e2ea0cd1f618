/** Translates the kernels and prints what failed; started by `translate`. */

import { reportTranslation, type TranslationOptions } from "./report.ts";

await reportTranslation(JSON.parse(Deno.args[0]) as TranslationOptions);
