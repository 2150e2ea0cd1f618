/** What a step went by, part by part in the order in which it came about, as digests of the very bits. */

import { Digest } from "../../platform/files/digest.ts";
import type { RolloutResponse } from "../../engine/sampling/rollout.ts";
import type { GeneratorStepResult } from "../../rl/generator_step.ts";
import type { Learned } from "../../rl/learn_from.ts";
import type { Critique, ProblemSource, Solution } from "../../rl/responses.ts";
import type { SolutionScore } from "../../rl/reward/solution_score.ts";
import type { RewardModelStepResult } from "../../rl/reward_model_step.ts";
import type { SupervisedSample } from "../../rl/update/supervised_update.ts";
import type { VerifierStepResult } from "../../rl/verifier_step.ts";
import type { Parts } from "../store/audit_log.ts";

/** Parts of a generator step. */
export function generatorParts<Problem>(
  source: ProblemSource<Problem>,
  result: GeneratorStepResult<Problem>,
): Parts {
  const { judged } = result;
  const solutions = judged.map(({ solution }) => solution);
  const critiques = judged.flatMap(({ critiques }) => critiques);
  return {
    ...solutionParts(source, solutions),
    log_probs: digestOfLogProbs(solutions),
    ...critiqueParts(critiques),
    ...scoreParts(judged.flatMap(({ score }) => score ?? [])),
    rewards: digestOf(judged, (digest, { reward, judgments }) => digest.value([reward, judgments])),
    advantages: digestOf(judged, (digest, { advantages }) => digest.numbers(advantages)),
    ...updateParts(result),
  };
}

/** Parts of a verifier step. */
export function verifierParts<Problem>(
  source: ProblemSource<Problem>,
  result: VerifierStepResult<Problem>,
): Parts {
  const { rewarded, paidSteps } = result;
  const critiques = rewarded.map(({ critique }) => critique);
  const solutions = [...new Set(critiques.map(({ solution }) => solution))];
  return {
    ...solutionParts(source, solutions),
    ...critiqueParts(critiques),
    log_probs: digestOfLogProbs(critiques),
    rewards: new Digest().value([rewarded.map(({ reward }) => reward), paidSteps]).hex(),
    advantages: digestOf(rewarded, (digest, { advantages }) => digest.numbers(advantages)),
    ...updateParts(result),
  };
}

/** Parts of a verifier step of a reward model. */
export function rewardModelParts<Problem>(
  source: ProblemSource<Problem>,
  { scored, coefficients, update }: RewardModelStepResult<Problem>,
): Parts {
  return {
    ...solutionParts(source, scored.map(({ solution }) => solution)),
    ...scoreParts(scored.map(({ score }) => score)),
    update: new Digest().value([coefficients, update]).hex(),
  };
}

/** Parts of an evaluation. */
export function evaluationParts<Problem>(
  source: ProblemSource<Problem>,
  solutions: readonly Solution<Problem>[],
  critiques: readonly Critique<Problem>[],
  scores: readonly SolutionScore[],
): Parts {
  return {
    ...solutionParts(source, solutions),
    ...critiqueParts(critiques),
    ...scoreParts(scores),
  };
}

/** Parts of a step of supervised fine-tuning. */
export function supervisedParts(samples: readonly SupervisedSample[]): Parts {
  return {
    examples: digestOf(samples, (digest, { prompt, response, weights }) => {
      digest.numbers(prompt).numbers(response).numbers(weights);
    }),
  };
}

function solutionParts<Problem>(
  source: ProblemSource<Problem>,
  solutions: readonly Solution<Problem>[],
): Parts {
  return {
    problems: digestOf(solutions, (digest, { problem, prompt }) => {
      digest.numbers(prompt).text(source.referenceAnswer(problem));
    }),
    solutions: digestOfTokens(solutions),
    grades: digestOf(solutions, (digest, { correct, formatScore }) => {
      digest.value([correct, formatScore]);
    }),
  };
}

function critiqueParts<Problem>(critiques: readonly Critique<Problem>[]): Parts {
  if (critiques.length === 0) return {};
  return {
    critiques: digestOfTokens(critiques),
    judgments: digestOf(critiques, (digest, { parsed: { stepJudgments, verdict } }) => {
      digest.value([stepJudgments, verdict]);
    }),
  };
}

function scoreParts(scores: readonly SolutionScore[]): Parts {
  if (scores.length === 0) return {};
  return {
    scores: digestOf(scores, (digest, { logit, tokens }) => {
      digest.value([logit, tokens && Array.from(tokens)]);
    }),
  };
}

/** What an update says of itself; the log-prob differences are in the samples. */
function updateParts({ update, leftOut }: Learned): Parts {
  const { logProbDifferences: _, ...numbers } = update ?? { logProbDifferences: null };
  return { update: new Digest().value([numbers, leftOut]).hex() };
}

type Responses = readonly { readonly rollout: RolloutResponse }[];

function digestOfTokens(responses: Responses): string {
  return digestOf(responses, (digest, { rollout: { tokens, finished } }) => {
    digest.numbers(tokens).value(finished);
  });
}

function digestOfLogProbs(responses: Responses): string {
  return digestOf(responses, (digest, { rollout: { logProbs } }) => digest.numbers(logProbs));
}

function digestOf<Item>(
  items: readonly Item[],
  add: (digest: Digest, item: Item) => unknown,
): string {
  const digest = new Digest();
  for (const item of items) add(digest, item);
  return digest.hex();
}
