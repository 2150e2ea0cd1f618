/** What a saved verifier thinks of answers to a question. */

import { rollout } from "../engine/sampling/rollout.ts";
import { Sampler } from "../engine/sampling/sampler.ts";
import { withTurnEnd } from "../model/tokenizer/stop_tokens.ts";
import type { LoadedModel } from "../model/weights/model_folder.ts";
import { streams } from "../random/philox.ts";
import { qualityOf } from "../rl/measures/verdict_probability.ts";
import type { VerifierTemplate } from "../rl/prompt_template.ts";
import { firstFlaggedStep } from "../rl/rewriting.ts";
import { sampledVerdict, verdictNeighbours } from "../rl/solution_quality.ts";
import { parseCritique } from "../rl/text/parse_critique.ts";
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

/** What a verifier thinks of an answer. */
export interface JudgedAnswer {
  /** Mean P(CORRECT) over the critiques, see `verdictProbability`. */
  readonly quality: number;
  /** Place of the first step that most critiques call INCORRECT, see `firstFlaggedStep`; null where none is. */
  readonly flagged: number | null;
}

/**
 * What the verifier thinks of each answer.
 *
 * @throws UserError when the question leaves the verifier no room for a critique
 */
export async function judgeAnswers(
  { model, tokenizer, stopTokens }: LoadedModel,
  question: string,
  answers: readonly string[],
  choice: JudgingChoice,
): Promise<JudgedAnswer[]> {
  const { critiques: count, critiqueLength: maximumResponse, temperature, seed, template } = choice;
  const { config } = model;
  const prompted = { tokenizer, template, config, maximumResponse, maximumPrompt: null };
  const stepCounts = answers.map((solution) => parseSolution(solution).steps.length);
  const requests = answers.map((solution, a) => {
    const steps = stepCounts[a];
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
    return groups.map((group, a) => {
      const critiques = group.map(({ tokens }) => ({
        parsed: parseCritique(tokenizer.decode(tokens)),
      }));
      return {
        quality: qualityOf(group.map((one) => sampledVerdict(tokenizer, one))),
        flagged: firstFlaggedStep(critiques, stepCounts[a]),
      };
    });
  } finally {
    sampler.close();
  }
}
