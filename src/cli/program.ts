/** Runs one command of a commander program and turns every error into a message and an exit code. */

import { Command, CommanderError } from "commander";
import { Failure } from "../base/failure.ts";
import { writeReason } from "../platform/process/reason_file.ts";
import { UserError } from "../base/user_error.ts";
import { type Start, startedBy } from "../distributed/mpi/started_by.ts";

/** Exit codes of all commands; a command that fails in its own way sets `Deno.exitCode` to 1. */
export const EXIT = { success: 0, failure: 1, userError: 2 } as const;

/** A file of one command. */
export interface CommandModule {
  /** Adds the command, with its options, examples and action. */
  register(program: Command): void;
}

/** What the list of commands says about one, and how to load the rest. */
export interface CommandSource {
  readonly summary: string;
  /** Whether a launcher may start several processes with it, which share its work or only look, each at its machine. */
  readonly isForRanks?: boolean;
  load(): Promise<CommandModule>;
}

/**
 * Runs `args` (command name first) and returns the exit code: 0, 2 with a message for a mistake of the
 * user, 1 with a message for what gave out and with a stack trace for a fault of the program, or what the
 * command left in `Deno.exitCode`.
 */
export async function runProgram(
  commands: Readonly<Record<string, CommandSource>>,
  args: readonly string[],
): Promise<number> {
  const program = new Command("deno task")
    .description("Trains a generator and a verifier together (RL Tango).")
    .usage("<command> [options]")
    .helpCommand(false)
    .addHelpText("after", "\ndeno task <command> --help shows a command's options and an example.")
    .showHelpAfterError("(--help shows what is possible)")
    .exitOverride();
  try {
    const source = Object.hasOwn(commands, args[0] ?? "") ? commands[args[0]] : undefined;
    if (source === undefined) {
      for (const [name, { summary }] of Object.entries(commands)) {
        program.command(name).summary(summary).description(summary);
      }
      if (args.length === 0) program.help();
    } else {
      const start = startedBy((name) => Deno.env.get(name));
      if (start !== null && !source.isForRanks) return refuseRanks(args[0], start);
      (await source.load()).register(program);
    }
    await program.parseAsync([...args], { from: "user" });
    return Deno.exitCode;
  } catch (error) {
    return reportError(error);
  }
}

/** Only rank 0 says it, and fails: a launcher ends all ranks as soon as one fails, maybe before rank 0 has begun. */
function refuseRanks(name: string, { rank, size, launcher }: Start): number {
  if (rank > 0) return EXIT.success;
  return reportError(
    new UserError(
      `${name} is for a single process, and ${launcher} started ${size}: each would do all of its work and write the ` +
        `same files. Start it without a launcher; train and sft share their work.`,
    ),
  );
}

/** Says what a program ended with. @returns its exit code */
export function reportError(error: unknown): number {
  if (error instanceof CommanderError) { // commander has printed its message
    return error.exitCode === 0 ? EXIT.success : EXIT.userError;
  }
  writeReason(error);
  if (error instanceof UserError) {
    console.error(error.message);
    return EXIT.userError;
  }
  if (error instanceof Failure) {
    console.error(error.message);
    return EXIT.failure;
  }
  console.error(error);
  return EXIT.failure;
}
