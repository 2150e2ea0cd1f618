/** `deno task bench`: starts bench/main.ts, which knows the options. */

import type { Command } from "commander";
import { runDenoTool } from "./deno_tool.ts";

/** Adds the command. */
export function register(program: Command): void {
  program.command("bench")
    .description("Measures every kernel and the end-to-end rates.")
    .argument("[options...]")
    .allowUnknownOption()
    .helpOption(false)
    .action(async (options: readonly string[]) => {
      Deno.exitCode = await runDenoTool(["run", "--allow-all", "bench/main.ts", ...options]);
    });
}
