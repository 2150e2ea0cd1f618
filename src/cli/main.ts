/** The program behind every task: `deno task <command> …` runs `src/cli/main.ts <command> …`. */

import { type CommandSource, runProgram } from "./program.ts";

/** Each command lives in a file of its own, which is loaded only when that command runs. */
const COMMANDS: Readonly<Record<string, CommandSource>> = {
  test: { summary: "run all tests, or those named", load: () => import("./test.ts") },
  lint: {
    summary: "check style, formatting, types and which folder imports which",
    load: () => import("./lint.ts"),
  },
  fmt: { summary: "format the source files", load: () => import("./fmt.ts") },
};

// Exits even while a GPU engine keeps timers alive.
Deno.exit(await runProgram(COMMANDS, Deno.args));
