/** Of several responses to a prompt those that are thought best. */

import { mean } from "../../base/statistics.ts";
import type { Response } from "../../engine/sampling/request.ts";
import { streams } from "../../random/philox.ts";
import { bestFirst } from "../../rl/measures/choice_metrics.ts";
import { qualityOf } from "../../rl/measures/verdict_probability.ts";
import { sampledVerdict, verdictNeighbours } from "../../rl/solution_quality.ts";
import { parseSolution } from "../../rl/text/parse_solution.ts";
import { verifierPrompt } from "../../rl/verifier_prompt.ts";
import { RequestProblem } from "../http/problem.ts";
import type { RemoteRequest } from "../serving/messages.ts";
import type { Served } from "../serving/served_models.ts";
import type { VerifierBeside } from "../serving/verifier_beside.ts";

/** The most responses to a prompt that some are chosen from. */
export const MOST_TO_CHOOSE_FROM = 32;

/** By what was chosen. */
export const choiceRules = ["verifier", "log_prob"] as const;
export type ChoiceRule = typeof choiceRules[number];

/** Samples from another model for the same client, as long as somebody waits. */
export type AskBeside = (
  served: Served,
  requests: readonly RemoteRequest[],
) => Promise<readonly Response[]>;

/** How responses are chosen. */
export interface Chooser {
  readonly rule: ChoiceRule;
  /**
   * How good each response is.
   *
   * @param texts of the responses
   * @param promptOf tells the place of a response's prompt
   */
  score(
    responses: readonly Response[],
    texts: readonly string[],
    promptOf: (place: number) => number,
    ask: AskBeside,
  ): Promise<readonly number[]>;
}

/** OpenAI's own rule: the highest log-prob per token. */
const byLogProb: Chooser = {
  rule: "log_prob",
  score: (responses) =>
    Promise.resolve(responses.map(({ logProbs }) => mean(Array.from(logProbs)))),
};

/**
 * By P(CORRECT) of one greedy critique of each response where the model has a verifier beside it and all prompts are
 * questions as its run puts them, else by log-prob.
 *
 * @param prompts as texts, special tokens with theirs
 */
export function chooserOf(verifier: VerifierBeside | null, prompts: readonly string[]): Chooser {
  if (verifier === null) return byLogProb;
  const questions = prompts.flatMap((prompt) => verifier.questionOf(prompt) ?? []);
  if (questions.length < prompts.length) return byLogProb;
  const { served, prompted, stopTokens } = verifier;
  return {
    rule: "verifier",
    async score(_, texts, promptOf, ask) {
      const requests = texts.map((solution, place): RemoteRequest => {
        const steps = parseSolution(solution).steps.length;
        const question = questions[promptOf(place)];
        const { prompt } = verifierPrompt(prompted, { question, solution, steps });
        const room = Math.min(
          prompted.maximumResponse,
          served.info.maximumTokens - prompt.length,
        );
        if (room < 1) {
          const message = "best_of: a prompt leaves the verifier no room to judge the responses.";
          throw new RequestProblem(400, message, "best_of");
        }
        return {
          ...{ temperature: 0, topK: 0, topP: 1, minP: 0, stopTokens, prompt },
          ...{ seed: 0, stream: streams.served, step: 0, sequenceId: place },
          ...{ maximumResponse: room, likeliest: verdictNeighbours(prompted) },
        };
      });
      const critiques = await ask(served, requests);
      return critiques.map(({ likeliest, ...critique }) =>
        qualityOf([
          sampledVerdict(prompted.tokenizer, { ...critique, likeliest: likeliest ?? undefined }),
        ])
      );
    },
  };
}

/** Places of the n best responses to each prompt, the best first. @param scores prompt by prompt */
export function chosenPlaces(scores: readonly number[], prompts: number, n: number): number[] {
  const each = scores.length / prompts;
  return Array.from({ length: prompts }, (_, p) => {
    const own = scores.slice(p * each, (p + 1) * each);
    return bestFirst(own).slice(0, n).map((place) => p * each + place);
  }).flat();
}
