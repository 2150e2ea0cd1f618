/** How a command asks a saved policy. */

import { UserError } from "../base/user_error.ts";
import type { PolicyName } from "../rl/policy.ts";
import { type PolicyPrompting, promptedAs, runOfModel } from "../run/store/model_run.ts";

/** How a policy is asked, and of which model's files a chat template is. */
export interface PromptedPolicy extends PolicyPrompting {
  readonly model: string;
}

/** What is said of it on the command line. */
export interface SaidPrompting {
  /** File of the template. */
  readonly template?: string;
  /** Tokens of a response. */
  readonly length?: number;
}

const elsewhere = {
  generator: { prompt_template: "configs/prompts/generator.txt", max_response_length: 128 },
  verifier: { prompt_template: "configs/prompts/verifier.txt", max_response_length: 192 },
};

/**
 * As it was asked in the run that it lies in, but for what is said; a model that lies in none is asked without a
 * conversation.
 *
 * @param option that says the template
 * @throws UserError when that run's configuration is not one, or it has no such policy and no template is said
 */
export function askedAs(
  policy: PolicyName,
  model: string,
  { template, length }: SaidPrompting,
  option: string,
): PromptedPolicy {
  const run = runOfModel(model);
  const asked = run && promptedAs(policy, run);
  if (run !== null && asked === null && template === undefined) {
    throw new UserError(
      `${model} comes from a run without a ${policy}, which does not say how one is asked: ` +
        `name another model, or a template with ${option} configs/prompts/${policy}.txt.`,
    );
  }
  const prompting = asked ?? { chat: false, system_prompt: null, ...elsewhere[policy] };
  return {
    ...prompting,
    model,
    prompt_template: template ?? prompting.prompt_template,
    max_response_length: length ?? prompting.max_response_length,
  };
}
