/** A verifier's critiques of the solutions of a bank. */

import { findTask, taskNames } from "../../data/tasks.ts";
import { readWorkedResult } from "../../data/worked_critique.ts";
import { streams } from "../../random/philox.ts";
import { ownResultDiffers } from "../../rl/evaluation.ts";
import { stepDoubts } from "../../rl/measures/step_doubts.ts";
import type { Policy } from "../../rl/policy.ts";
import type { VerifierTemplate } from "../../rl/prompt_template.ts";
import { type Critique, type ProblemSource, verify } from "../../rl/responses.ts";
import { verdictProbability } from "../../rl/measures/verdict_probability.ts";
import { sampledVerdict, verdictNeighbours } from "../../rl/solution_quality.ts";
import { writtenSolution } from "../../rl/written_solution.ts";
import type { TangoConfig } from "../config/config_schema.ts";
import { policyOf } from "../tango/load_policy.ts";
import type { Bank, BankSolution } from "./bank_file.ts";
import type { BankCritique, JudgedSource, JudgmentSettings } from "./judgments_file.ts";
import { plainSampling } from "./make_bank.ts";

/** A bank's problems as a verifier is asked about them. @param task that they are of, or name of a data set */
export function bankSource(task: string): ProblemSource<BankSolution> {
  return {
    question: ({ problem }) => problem,
    referenceAnswer: ({ reference }) => reference,
    sourceName: ({ source }) => source,
    isCorrect: ({ correct }) => correct,
    isSameAnswer: (_, answer, other) => answer.trim() === other.trim(),
    readOwnResult: taskNames.includes(task)
      ? (critiqueStep, step) => findTask(task).readOwnResult?.(critiqueStep, step) ?? null
      : readWorkedResult,
  };
}

/** @throws UserError when the configuration has no verifier */
export function judgmentSettings(
  config: TangoConfig,
  { samples, seed }: Pick<JudgmentSettings, "samples" | "seed">,
): JudgmentSettings {
  const verifier = policyOf(config, "verifier");
  const { max_response_length, maximum_prompt_tokens, prompt_template, chat, system_prompt } =
    verifier;
  const { precision, cache_dtype, frozen_dtype } = config;
  return {
    ...{ samples, seed, max_response_length, maximum_prompt_tokens, prompt_template, chat },
    ...{ system_prompt, precision, cache_dtype, frozen_dtype },
  };
}

/**
 * Samples critiques of a source's solutions at temperature 1, without filters.
 *
 * @returns critiques of each solution, and how many solutions the prompt had no room for
 */
export async function judgeSource(
  verifier: Policy<VerifierTemplate>,
  { task, solutions, bySource }: Bank,
  source: string,
  { samples, seed }: JudgmentSettings,
): Promise<Pick<JudgedSource, "critiques" | "cut">> {
  const written = (bySource.get(source) ?? []).map((place) => {
    const line = solutions[place];
    return writtenSolution(line, line.solution, line.correct);
  });
  // The source's place in the bank keys its random numbers: they are the same for every verifier.
  const place = [...bySource.keys()].indexOf(source);
  const sampling = {
    ...plainSampling(seed, streams.bankCritiques, place),
    likeliest: verdictNeighbours(verifier),
  };
  const problems = bankSource(task);
  const critiques = await verify(verifier, problems, written, samples, sampling);
  const ofSolution = written.map((_, s) => critiques.slice(s * samples, (s + 1) * samples));
  return {
    critiques: ofSolution.map((own) => own.map((critique) => read(verifier, problems, critique))),
    cut: ofSolution.filter((own) => own.some(({ isCut }) => isCut)).length,
  };
}

function read(
  { tokenizer }: Policy<VerifierTemplate>,
  source: ProblemSource<BankSolution>,
  { rollout, parsed, solution }: Critique<BankSolution>,
): BankCritique {
  const { verdict, stepJudgments: steps } = parsed;
  const probability = verdict === null
    ? null
    : verdictProbability(sampledVerdict(tokenizer, rollout));
  const { tokens, logProbs } = rollout;
  const doubts = stepDoubts({ tokenTexts: tokenizer.decodeEach(tokens), logProbs, ...parsed });
  return {
    ...{ verdict, probability, steps, doubts },
    own_differs: ownResultDiffers(source, solution, parsed),
  };
}
