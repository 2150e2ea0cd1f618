/** The program behind every task: `deno task <command> …` runs `src/cli/main.ts <command> …`. */

import { COMMANDS } from "./commands.ts";
import { runProgram } from "./program.ts";
import { endWithLauncher } from "./ranks/launcher_line.ts";

const code = await runProgram(COMMANDS, Deno.args);
await endWithLauncher(code);
// Exits even while a GPU engine keeps timers alive.
Deno.exit(code);
