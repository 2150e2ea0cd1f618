/** What a saved verifier thinks of answers to a question. */

import { rollout } from "../engine/sampling/rollout.ts";
import { Sampler } from "../engine/sampling/sampler.ts";
import { withTurnEnd } from "../model/tokenizer/stop_tokens.ts";
import type { LoadedModel } from "../model/weights/model_folder.ts";
import { streams } from "../random/philox.ts";
import { qualityOf } from "../rl/measures/verdict_probability.ts";
import type { VerifierTemplate } from "../rl/prompt_template.ts";
import { sampledVerdict, verdictNeighbours } from "../rl/solution_quality.ts";
import { parseSolution } from "../rl/text/parse_solution.ts";
import { verifierPrompt } from "../rl/verifier_prompt.ts";

/** How answers are judged. */
export interface JudgingChoice {
  /** Critiques of each: 1 is greedy, more are sampled. */
  readonly critiques: number;
  readonly critiqueLength: number;
  /** How the verifier is asked. */
  readonly template: VerifierTemplate;
  /** The token that ends a turn of its conversation, besides its own stop tokens; null for none. */
  readonly turnEnd: number | null;
  /** Of several critiques; where it is 0, answers being the likeliest, 1. */
  readonly temperature: number;
  readonly seed: number;
}

/**
 * Mean P(CORRECT) over the critiques of each answer, see `verdictProbability`.
 *
 * @throws UserError when the question leaves the verifier no room for a critique
 */
export async function judgeAnswers(
  { model, tokenizer, stopTokens }: LoadedModel,
  question: string,
  answers: readonly string[],
  choice: JudgingChoice,
): Promise<number[]> {
  const { critiques: count, critiqueLength: maximumResponse, temperature, seed, template } = choice;
  const { config } = model;
  const prompted = { tokenizer, template, config, maximumResponse, maximumPrompt: null };
  const requests = answers.map((solution, a) => {
    const steps = parseSolution(solution).steps.length;
    const { prompt } = verifierPrompt(prompted, { question, solution, steps });
    return { prompt, sequenceIds: Array.from({ length: count }, (_, i) => a * count + i) };
  });
  const sampler = new Sampler(model, { slots: 64, stepsBetweenReadbacks: 16 });
  try {
    const groups = await rollout(sampler, requests, {
      temperature: count === 1 ? 0 : temperature || 1,
      ...{ topK: 0, topP: 1, minP: 0, seed, stream: streams.verifierEvaluation, step: 0 },
      ...{ stopTokens: withTurnEnd(stopTokens, choice.turnEnd), maximumResponse },
      likeliest: verdictNeighbours({ config }),
    });
    return groups.map((group) => qualityOf(group.map((one) => sampledVerdict(tokenizer, one))));
  } finally {
    sampler.close();
  }
}
