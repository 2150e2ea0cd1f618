import { rollout } from "../../engine/rollout.ts";
import { streams } from "../../random/philox.ts";
import type { Policy } from "../../rl/policy.ts";
import type { GeneratorTemplate, VerifierTemplate } from "../../rl/prompt_template.ts";
import type { TangoConfig } from "../config/config_schema.ts";
import { rolloutSampling } from "../tango/held_out_evaluation.ts";

/** Tokens of the prompts of a policy. */
export interface PromptLengths {
  readonly shortest: number;
  readonly longest: number;
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
    generator.tokenizer.encode(generator.template.render({ question })).length
  );
  const judged = verifier && questions.map((question) =>
    verifier.tokenizer.encode(
      verifier.template.render({ question, solution: "", steps: 9 }),
    ).length
  );
  return {
    generator: rangeOf(asked),
    verifier: judged && withSolutions(verifier, judged, generator.maximumResponse),
  };
}

/** A solution that leaves no room for the longest critique is cut. */
function withSolutions(
  { model, maximumResponse }: Policy<VerifierTemplate>,
  judged: readonly number[],
  solution: number,
): PromptLengths {
  const { shortest, longest } = rangeOf(judged);
  const room = Math.max(longest, model.config.maxPositions - maximumResponse);
  return { shortest, longest: Math.min(longest + solution, room) };
}

/** So many responses to each of so many prompts. */
export interface Rollout {
  readonly prompts: number;
  readonly responses: number;
}

/** The first tokens of rollouts on a rehearsal GPU, each as wide as it may be. */
export async function rehearseSampling(
  config: TangoConfig,
  policy: Policy<unknown>,
  { longest }: PromptLengths,
  rollouts: readonly Rollout[],
): Promise<void> {
  // A prompt that leaves no room for a response is refused or passed over when it is sampled.
  const tokens = Math.min(longest, policy.model.config.maxPositions - policy.maximumResponse);
  for (const { prompts, responses } of rollouts) {
    const held = Math.ceil(policy.sampler.slots / responses);
    const requests = Array.from({ length: Math.min(prompts, held + 1) }, (_, p) => ({
      // No two begin alike, so that each is computed.
      prompt: new Uint32Array(Math.max(1, tokens)).fill(p % policy.model.config.vocabularySize),
      // The last response to one prompt may come together with all to those after it.
      sequenceIds: Array.from({ length: p === 0 && prompts > held ? 1 : responses }, (_, i) => i),
    }));
    await rollout(policy.sampler, requests, {
      ...rolloutSampling(config, streams.generatorRollout, 1),
      // A rehearsal samples token 0.
      stopTokens: [0],
      maximumResponse: policy.maximumResponse,
    });
    policy.sampler.release();
  }
}
