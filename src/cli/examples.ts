import type { Command } from "commander";

/** Ends a command's --help with examples: command line and what it does, one pair each. */
export function addExamples(command: Command, examples: Readonly<Record<string, string>>): Command {
  const lines = Object.entries(examples).map(([line, effect]) => `  ${line}\n      ${effect}`);
  return command.addHelpText("after", `\nExamples:\n${lines.join("\n")}`);
}
