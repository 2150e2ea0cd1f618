import process from "node:process";
import { type CommandSource, runProgram } from "../../src/cli/program.ts";

/** Runs the program with what it prints caught. */
export async function runCaptured(
  commands: Readonly<Record<string, CommandSource>>,
  args: readonly string[],
): Promise<{ code: number; printed: string }> {
  let printed = "";
  const { error, log } = console;
  const { write: writeOut } = process.stdout;
  const { write: writeError } = process.stderr;
  const capture = (text: string | Uint8Array) => {
    printed += text;
    return true;
  };
  console.error = (value: unknown) => printed += value instanceof Error ? value.stack : value;
  console.log = (value: unknown) => printed += `${value}\n`;
  process.stdout.write = capture;
  process.stderr.write = capture;
  try {
    return { code: await runProgram(commands, args), printed };
  } finally {
    console.error = error;
    console.log = log;
    process.stdout.write = writeOut;
    process.stderr.write = writeError;
  }
}
