/** `deno task fmt`: formats the source files. */

import type { Command } from "commander";
import { runDenoTool } from "./deno_tool.ts";
import { addExamples } from "../examples.ts";

/** Adds the command. */
export function register(program: Command): void {
  const command = program.command("fmt")
    .description("Formats the source files in place.")
    .argument("[paths...]", "files and folders; all when none is named")
    .option("--check", "only report files that are not formatted")
    .action(async (paths: string[], options: { check?: boolean }) => {
      const check = options.check ? ["--check"] : [];
      if (await runDenoTool(["fmt", ...check, ...paths]) !== 0) Deno.exitCode = 1;
    });
  addExamples(command, { "deno task fmt src/rl": "formats one folder" });
}
