/** The program behind every task: `deno task <command> …` runs `src/cli/main.ts <command> …`. */

import { COMMANDS } from "./commands.ts";
import { runProgram } from "./program.ts";

// Exits even while a GPU engine keeps timers alive.
Deno.exit(await runProgram(COMMANDS, Deno.args));
