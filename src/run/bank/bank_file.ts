/** A bank: a JSON Lines file of solutions that stay as they are, for every verifier to be measured on. */

import { createHash } from "node:crypto";
import { z } from "zod";
import { exists, writeFileAtomically } from "../../platform/files/atomic_file.ts";
import { UserError } from "../../base/user_error.ts";

const writerSchema = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("checkpoint"), run: z.string(), step: z.int().nonnegative() }),
  z.object({ kind: z.literal("warm-start"), model: z.string() }),
  /** A right solution, or one with a mistake, which has a name. */
  z.object({ kind: z.literal("task"), mistake: z.string().nullable() }),
]);

const solutionSchema = z.object({
  /** Name of who wrote it: measures are told for each. */
  source: z.string().min(1),
  writer: writerSchema,
  task: z.string().min(1),
  problem: z.string(),
  reference: z.string(),
  solution: z.string(),
  correct: z.boolean(),
  /** True labels of its steps; null where nobody knows them. */
  steps: z.array(z.boolean()).nullable(),
});

/** Who wrote a solution of a bank. */
export type BankWriter = z.output<typeof writerSchema>;

/** A line of a bank. */
export type BankSolution = z.output<typeof solutionSchema>;

/** A bank that was read. */
export interface Bank {
  readonly path: string;
  /** Hash of the file: judgments are of this content and no other. */
  readonly sha256: string;
  /** Name of the task or data set that all its problems are of. */
  readonly task: string;
  readonly solutions: readonly BankSolution[];
  /** Places of the solutions of each source, in the file's order. */
  readonly bySource: ReadonlyMap<string, readonly number[]>;
}

/** Writes a bank whole. */
export function writeBank(path: string, solutions: readonly BankSolution[]): void {
  const lines = solutions.map((solution) => `${JSON.stringify(solution)}\n`);
  writeFileAtomically(path, lines.join(""));
}

/** @throws UserError when something is at the path of a new bank */
export function requireNoBank(path: string): void {
  if (!exists(path)) return;
  throw new UserError(
    `There is a file ${path} already. A bank stays as it is; choose another --output.`,
  );
}

/**
 * Reads a bank.
 *
 * @throws UserError naming the line when it is damaged, when there is none, or when it holds several tasks
 */
export function readBank(path: string): Bank {
  const bytes = readBytes(path);
  const text = new TextDecoder().decode(bytes);
  const lines = text.endsWith("\n") ? text.slice(0, -1).split("\n") : text.split("\n");
  if (text === "") {
    throw new UserError(
      `The bank ${path} is empty: no verifier can be measured on it. Make one with ./tango bank make.`,
    );
  }
  const solutions = lines.map((line, i) => readLine(line, `${path}:${i + 1}`));
  const [first] = solutions;
  const other = solutions.findIndex(({ task }) => task !== first.task);
  if (other >= 0) {
    throw new UserError(
      `The bank ${path} mixes tasks: line 1 is of ${first.task}, line ${other + 1} of ` +
        `${solutions[other].task}. Measures over both mean nothing; make a bank of each.`,
    );
  }
  return {
    path,
    sha256: createHash("sha256").update(bytes).digest("hex"),
    task: first.task,
    solutions,
    bySource: Map.groupBy(solutions.keys(), (place) => solutions[place].source),
  };
}

function readBytes(path: string): Uint8Array {
  try {
    return Deno.readFileSync(path);
  } catch (error) {
    throw new UserError(
      `The bank ${path} cannot be read: ${(error as Error).message}. ./tango bank make writes one.`,
    );
  }
}

function readLine(line: string, place: string): BankSolution {
  const damaged = (what: string) =>
    new UserError(
      `${place} is damaged: ${what}. Take the file as it was written, or make it anew.`,
    );
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    throw damaged(`a JSON object was expected, found ${JSON.stringify(line.slice(0, 60))}`);
  }
  const { data, error } = solutionSchema.safeParse(value);
  if (data) return data;
  const [issue] = error.issues;
  throw damaged(`${issue.path.join(".") || "the whole"}: ${issue.message}`);
}
