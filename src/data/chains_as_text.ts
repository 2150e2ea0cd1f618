/**
 * Chains of counts in plain English, with one calculation a step, for models that read files and tokens:
 *
 *   question  Ann has 7 pens. Ann's pal Bob has 3 more. Bob's pal Cid has 2 times as many. How many has Cid?
 *   answer    7+3=10   10*2=20   #### 20
 */

import { RandomStream } from "../random/philox.ts";
import { CHAIN_NAMES, chainsTask } from "./chains.ts";
import { type Split, splitOf } from "./split.ts";
import type { WrittenProblem } from "./write_problem_files.ts";

const DIFFICULTY = { minimumSteps: 2, maximumSteps: 6 } as const;

const STREAMS: Readonly<Record<Split, number>> = { train: 103, validation: 104, test: 105 };

const NAME = new RegExp(String.raw`\b(?:${CHAIN_NAMES.join("|")}|how)\b`, "g");

const capitalised = (word: string) => word[0].toUpperCase() + word.slice(1);

/**
 * So many different problems of a part, of two to six steps each as often. A calculation, that is all steps of a
 * solution, is in one part alone, whoever has the pens.
 */
export function* chainsAsText(part: Split, count: number, seed: number): Generator<WrittenProblem> {
  const questions = new Set<string>();
  for (let draw = 0; questions.size < count; draw++) {
    const random = new RandomStream(seed, STREAMS[part], 0, draw);
    const problem = chainsTask.makeProblem(() => random.uniform(), DIFFICULTY);
    const steps = problem.goldSteps.map((step) => step.slice(step.indexOf(":") + 1));
    if (splitOf(steps.join()) !== part) continue;
    const question = `${problem.question.replace(NAME, capitalised)}?`;
    if (questions.has(question)) continue;
    questions.add(question);
    yield { question, answer: [...steps, `#### ${problem.answer}`].join("\n") };
  }
}
