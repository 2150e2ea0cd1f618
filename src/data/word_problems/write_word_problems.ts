/**
 * Writes word problems with worked solutions, in GSM8K's format: train.jsonl, validation.jsonl, new-numbers.jsonl
 * (told as training's are) and new-wordings.jsonl (told in sentences of which training has none), and beside them a
 * tokenizer made from the training problems, for models that begin with random weights. The same seed and numbers
 * give the same files.
 */

import { type Part, wordings, type WordProblem, wordProblems } from "./grammar.ts";
import { writeProblemFiles } from "../write_problem_files.ts";

/** Problems of each part but training's. */
const HELD_OUT = { validation: 128, newNumbers: 256, newWordings: 256 } as const;

const FILES: Readonly<Record<Part, string>> = {
  train: "train.jsonl",
  validation: "validation.jsonl",
  newNumbers: "new-numbers.jsonl",
  newWordings: "new-wordings.jsonl",
};

/** Tokens of the tokenizer: enough for every word that is read often to be one or two. */
const TOKENS = 768;

/** What is to be written. */
export interface Order {
  readonly folder: string;
  /** Problems to train on. */
  readonly train: number;
  readonly seed: number;
  /** The most that there is of anything. */
  readonly largest: number;
}

/** What a file has been given. */
export interface Written {
  readonly file: string;
  readonly problems: number;
  /** In which these are told, if each has problems left. */
  readonly wordings: number;
  /** Those of them that have no problems left: told less often than others, or not at all. */
  readonly exhausted: number;
}

/**
 * Writes the files of all parts and the tokenizer, over those that are there.
 *
 * @throws UserError when there are not so many problems; nothing is written then
 */
export function writeWordProblems({ folder, train, seed, largest }: Order): Written[] {
  // The fewest wordings first: there it shows soonest that numbers are too small.
  const parts = (Object.entries({ ...HELD_OUT, train }) as [Part, number][]).map((
    [part, count],
  ) => ({ part, ...drawn(wordProblems(part, count, seed, largest)) }));
  writeProblemFiles(
    folder,
    new Map(parts.map(({ part, problems }) => [FILES[part], problems])),
    TOKENS,
  );
  const told = wordings();
  return parts.map(({ part, problems, exhausted }) => ({
    file: FILES[part],
    problems: problems.length,
    wordings: told[part].length,
    exhausted,
  }));
}

function drawn(
  source: Generator<WordProblem, number>,
): { readonly problems: readonly WordProblem[]; readonly exhausted: number } {
  const problems: WordProblem[] = [];
  for (;;) {
    const { value, done } = source.next();
    if (done === true) return { problems, exhausted: value };
    problems.push(value);
  }
}
