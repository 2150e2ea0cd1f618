import { join } from "node:path";
import { trainTokenizer } from "./word_problems/train_tokenizer.ts";

/** A problem with its worked solution, in GSM8K's format. */
export interface WrittenProblem {
  readonly question: string;
  /** The steps, a line each, and `#### ` with the answer. */
  readonly answer: string;
}

/** What prompts and critiques say besides the problems, which a tokenizer learns with each of them. */
const SAID = "Is each of the steps right, and is the answer?\n12+7=19, claimed 18";

/**
 * Writes files of problems into a folder, and beside them `tokenizer/`, made from the questions of `train.jsonl`, for
 * models that begin with random weights; over what is there.
 *
 * @param tokens of the tokenizer, at most
 */
export function writeProblemFiles(
  folder: string,
  files: ReadonlyMap<string, readonly WrittenProblem[]>,
  tokens: number,
): void {
  Deno.mkdirSync(join(folder, "tokenizer"), { recursive: true });
  for (const [name, problems] of files) {
    const lines = problems.map((problem) => JSON.stringify(problem));
    Deno.writeTextFileSync(join(folder, name), lines.join("\n") + "\n");
  }
  const texts = (files.get("train.jsonl") ?? []).map(({ question }) => `${question}\n${SAID}`);
  for (const [name, content] of Object.entries(trainTokenizer(texts, tokens))) {
    Deno.writeTextFileSync(join(folder, "tokenizer", name), JSON.stringify(content));
  }
}
