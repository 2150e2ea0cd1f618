/** Compiles the kernels of the models and prints what the compiler says; started by `machine-code`. */

import { reportError } from "../../src/cli/program.ts";
import { reportMachineCode, type ReportOptions } from "./report.ts";

try {
  await reportMachineCode(JSON.parse(Deno.args[0]) as ReportOptions);
} catch (error) {
  Deno.exitCode = reportError(error);
}
// Exits even while a GPU engine keeps timers alive.
Deno.exit(Deno.exitCode);
