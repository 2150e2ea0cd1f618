import { resolve } from "node:path";
import { fileURLToPath } from "node:url";

/** The folder that holds deno.json, without a slash at its end. */
export const PROJECT_FOLDER: string = resolve(fileURLToPath(new URL("../../..", import.meta.url)));
