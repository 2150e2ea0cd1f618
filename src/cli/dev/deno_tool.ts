/** Deno's own tools (fmt, lint, check, test), run on this project. */

import { PROJECT_FOLDER } from "./project.ts";

/**
 * Runs `deno <args>` in the project's folder with the terminal's own streams; gives its exit code.
 *
 * @param through words of a command that starts Deno; none: it is started by itself
 */
export async function runDenoTool(
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
  through: readonly string[] = [],
): Promise<number> {
  const [program, ...words] = [...through, Deno.execPath(), ...args];
  const { code } = await new Deno.Command(program, {
    args: words,
    cwd: PROJECT_FOLDER,
    env: environment,
    stdin: "null",
    stdout: "inherit",
    stderr: "inherit",
  }).output();
  return code;
}
