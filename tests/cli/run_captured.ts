import assert from "node:assert/strict";
import process from "node:process";
import { COMMANDS } from "../../src/cli/commands.ts";
import { type CommandSource, runProgram } from "../../src/cli/program.ts";

/** How a command ended, and what it printed: all of it, and what of that went where. */
interface Captured {
  readonly code: number;
  readonly printed: string;
  readonly output: string;
  readonly errors: string;
}

/** Runs the program in this process with what it prints caught. */
export async function runCaptured(
  commands: Readonly<Record<string, CommandSource>>,
  args: readonly string[],
): Promise<Captured> {
  let printed = "", output = "", errors = "";
  const { error, log } = console;
  const { write: writeOut } = process.stdout;
  const { write: writeError } = process.stderr;
  const { writeSync } = Deno.stdout;
  console.error = (value: unknown) => {
    const text = value instanceof Error ? value.stack : value;
    printed += text;
    errors += `${text}\n`;
  };
  console.log = (value: unknown = "") => {
    printed += `${value}\n`;
    output += `${value}\n`;
  };
  process.stdout.write = (text: string | Uint8Array) => {
    printed += text;
    output += text;
    return true;
  };
  process.stderr.write = (text: string | Uint8Array) => {
    printed += text;
    errors += text;
    return true;
  };
  Deno.stdout.writeSync = (bytes: Uint8Array) => {
    process.stdout.write(new TextDecoder().decode(bytes));
    return bytes.length;
  };
  try {
    const code = await runProgram(commands, args);
    return { code, printed, output, errors };
  } finally {
    console.error = error;
    console.log = log;
    process.stdout.write = writeOut;
    Deno.stdout.writeSync = writeSync;
    process.stderr.write = writeError;
  }
}

/** Runs a command that must end with a code. What it left as this process's own code is taken back. @returns what it printed */
export async function runTo(code: number, ...args: string[]): Promise<string> {
  const result = await runCaptured(COMMANDS, args);
  Deno.exitCode = 0;
  assert.equal(result.code, code, `${args.join(" ")}\n${result.printed}`);
  return result.printed;
}
