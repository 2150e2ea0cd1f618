/** Deno's own tools (fmt, lint, check, test), run on this project. */

import { PROJECT_FOLDER } from "./project.ts";

/** Runs `deno <args>` in the project's folder with the terminal's own streams; gives its exit code. */
export async function runDenoTool(
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<number> {
  const { code } = await new Deno.Command(Deno.execPath(), {
    args: [...args],
    cwd: PROJECT_FOLDER,
    env: environment,
    stdin: "null",
    stdout: "inherit",
    stderr: "inherit",
  }).output();
  return code;
}
