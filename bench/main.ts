/** `deno task bench`, in a process of its own so that nothing else is compiled, pooled or warmed up. */

import { runProgram } from "../src/cli/program.ts";

const bench = { summary: "measure every kernel", load: () => import("./command.ts") };

// Exits even while a GPU engine keeps timers alive.
Deno.exit(await runProgram({ bench }, ["bench", ...Deno.args]));
