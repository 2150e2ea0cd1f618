import { rollout } from "../../engine/sampling/rollout.ts";
import { streams } from "../../random/philox.ts";
import type { Policy } from "../../rl/policy.ts";
import type { GeneratorTemplate, VerifierTemplate } from "../../rl/prompt_template.ts";
import { promptRoom } from "../../rl/verifier_prompt.ts";
import type { TangoConfig } from "../config/config_schema.ts";
import { rolloutSampling } from "../tango/held_out_evaluation.ts";

/** Tokens of the prompts of a policy. */
export interface PromptLengths {
  readonly shortest: number;
  readonly longest: number;
  /** Tokens with which all prompts begin (the template's), computed once; 0 by default. */
  readonly common?: number;
  /** Tokens with which prompts about the same question begin; by default as many as `common`. */
  readonly commonToQuestion?: number;
}

/** The range of some lengths. */
export function rangeOf(lengths: readonly number[]): PromptLengths {
  const extreme = (pick: (a: number, b: number) => number) => lengths.reduce((a, b) => pick(a, b));
  return { shortest: extreme(Math.min), longest: extreme(Math.max) };
}

/** The prompts that questions make, of which there must be one; the verifier's with the longest solutions. */
export function promptLengths(
  questions: readonly string[],
  generator: Policy<GeneratorTemplate>,
  verifier: Policy<VerifierTemplate> | null,
): { readonly generator: PromptLengths; readonly verifier: PromptLengths | null } {
  const asked = questions.map((question) =>
    generator.tokenizer.encode(generator.template.render({ question }))
  );
  const lengths = (prompts: readonly Uint32Array[]) => prompts.map(({ length }) => length);
  const toSolve = { ...rangeOf(lengths(asked)), common: commonTokens(asked) };
  if (verifier === null) return { generator: toSolve, verifier: null };
  const judgedWith = (solution: string) =>
    questions.map((question) =>
      verifier.tokenizer.encode(verifier.template.render({ question, solution, steps: 9 }))
    );
  const judged = judgedWith("");
  const [one, another] = [judgedWith("0"), judgedWith("x")];
  const commonToQuestion = Math.min(...one.map((prompt, q) => commonTokens([prompt, another[q]])));
  const toJudge = {
    ...withSolutions(verifier, lengths(judged), generator.maximumResponse),
    common: Math.min(commonTokens(judged), commonToQuestion),
    commonToQuestion,
  };
  return { generator: toSolve, verifier: toJudge };
}

/** Number of tokens with which all prompts begin; there must be a prompt. */
function commonTokens([first, ...others]: readonly Uint32Array[]): number {
  return others.reduce((common, prompt) => {
    const parted = first.subarray(0, common).findIndex((token, t) => token !== prompt[t]);
    return parted < 0 ? common : parted;
  }, first.length);
}

/** A solution that makes the prompt longer than may be is cut. */
function withSolutions(
  verifier: Policy<VerifierTemplate>,
  judged: readonly number[],
  solution: number,
): PromptLengths {
  const { shortest, longest } = rangeOf(judged);
  const room = Math.max(longest, promptRoom(verifier));
  return { shortest, longest: Math.min(longest + solution, room) };
}

/** A number of responses to each of a number of prompts. */
export interface Rollout {
  readonly prompts: number;
  readonly responses: number;
  /** How many prompts in a row are about the same question; one by default. */
  readonly toQuestion?: number;
  /** Tokens of a longest response that stand before it already and are part of the prompt; none by default. */
  readonly begun?: number;
}

/**
 * The first tokens of rollouts on a rehearsal GPU, each as wide as it may be; nothing where other ranks sample.
 *
 * @param likeliest how many of the likeliest tokens are told beside each
 */
export async function rehearseSampling(
  config: TangoConfig,
  policy: Policy<unknown>,
  { longest, common = 0, commonToQuestion = common }: PromptLengths,
  rollouts: readonly Rollout[],
  likeliest = 0,
): Promise<void> {
  const { engine: { here }, config: { maxPositions, vocabularySize }, maximumResponse } = policy;
  if (here === null) return;
  const { sampler } = here;
  // A prompt that leaves no room for a response is refused or passed over when it is sampled.
  const tokens = Math.min(longest, maxPositions - maximumResponse);
  const other = (n: number) => 1 + n % (vocabularySize - 1);
  for (const { prompts, responses, toQuestion = 1, begun = 0 } of rollouts) {
    const held = Math.ceil(sampler.slots / responses);
    const requests = Array.from({ length: Math.min(prompts, held + 1) }, (_, p) => ({
      // No two go on alike after what they have in common, so that each is computed.
      prompt: new Uint32Array(Math.max(1, tokens) + begun)
        .fill(other(Math.floor(p / toQuestion)), common)
        .fill(other(p), toQuestion > 1 ? commonToQuestion : common),
      // The last response to one prompt may come together with all to those after it.
      sequenceIds: Array.from({ length: p === 0 && prompts > held ? 1 : responses }, (_, i) => i),
    }));
    await rollout(sampler, requests, {
      ...rolloutSampling(config, streams.generatorRollout, 1),
      // A rehearsal samples token 0.
      stopTokens: [0],
      ...{ maximumResponse: maximumResponse - begun, likeliest },
    });
    sampler.release();
  }
}
