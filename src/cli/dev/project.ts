import { fileURLToPath } from "node:url";

/** The folder that holds deno.json, without a slash at its end. */
export const PROJECT_FOLDER: string = fileURLToPath(new URL("../../..", import.meta.url)).replace(
  /\/$/,
  "",
);
