/** Compiles the kernels of the models and prints what the compiler says; started by `machine-code`. */

import { reportMachineCode, type ReportOptions } from "./report.ts";

await reportMachineCode(JSON.parse(Deno.args[0]) as ReportOptions);
// Exits even while a GPU engine keeps timers alive.
Deno.exit(Deno.exitCode);
