import { chainsAsText } from "./chains_as_text.ts";
import { writeProblemFiles } from "./write_problem_files.ts";

/** Problems of each part but training's, in their files. */
const HELD_OUT = { validation: 128, test: 512 } as const;

/** Tokens of the tokenizer: every word is one, and each digit. */
const TOKENS = 256;

/** What a file has been given. */
export interface WrittenChains {
  readonly file: string;
  readonly problems: number;
}

/**
 * Writes chains of counts in plain English, in GSM8K's format: train.jsonl, validation.jsonl and test.jsonl, and beside
 * them a tokenizer made from the first, over what is there. The same seed and number give the same files.
 *
 * @param train problems to train on
 */
export function writeChains(
  { folder, train, seed }: {
    readonly folder: string;
    readonly train: number;
    readonly seed: number;
  },
): WrittenChains[] {
  const files = new Map(
    (["train", "validation", "test"] as const).map((part) => {
      const count = part === "train" ? train : HELD_OUT[part];
      return [`${part}.jsonl`, [...chainsAsText(part, count, seed)]];
    }),
  );
  writeProblemFiles(folder, files, TOKENS);
  return Array.from(files, ([file, problems]) => ({ file, problems: problems.length }));
}
