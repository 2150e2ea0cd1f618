import type { Gpu } from "../../gpu/gpu.ts";
import { UserError } from "../../base/user_error.ts";
import type { Policy } from "../../rl/policy.ts";
import type { Prompt } from "../../rl/prompt_template.ts";
import { promptRoom } from "../../rl/verifier_prompt.ts";
import { answerRest } from "../../run/answers/answer_rest.ts";
import type { Asking } from "../../run/benchmarks/asking.ts";
import { PolicySolver, promptTokens } from "../../run/benchmarks/policy_solver.ts";
import type { Role } from "../../run/benchmarks/roles.ts";
import type { TangoConfig } from "../../run/config/config_schema.ts";
import { checkPolicyMemory } from "../../run/memory/policy_memory.ts";
import { rangeOf } from "../../run/memory/rehearsed_sampling.ts";
import { openFrozenPolicy } from "../../run/tango/frozen_policy.ts";
import { releasePolicy } from "../../run/tango/policies.ts";
import { gpuOf, withGpu } from "../with_gpu.ts";

/** Milliseconds between two words about how far it is. */
const SILENCE = 10_000;

/**
 * Has a policy answer what is not answered yet; without anything left no GPU is opened.
 *
 * @throws UserError when no problem at all leaves room for an answer: the configuration is not for this model
 */
export async function answerOnGpu<Problem, Variable extends string>(
  config: TangoConfig,
  role: Role<Problem, Variable>,
  askings: readonly Asking<Problem>[],
  gpuIndex: number | undefined,
): Promise<void> {
  const left = askings.filter(({ problems, log }) => log.answers.length < problems.length);
  if (left.length === 0) return;
  const open = (gpu: Gpu, config: TangoConfig) =>
    openFrozenPolicy(gpu, config, role.policy, role.template, null);
  await withGpu(gpuOf(config, gpuIndex), async (gpu) => {
    await checkPolicyMemory(gpu, config, {
      open,
      lengths: (policy) => rangeOf(fittingLengths(policy, role, askings)),
      rollouts: left.map(({ problems, log, count }) => ({
        prompts: problems.length - log.answers.length,
        responses: count,
      })),
    });
    const policy = await open(gpu, config);
    try {
      for (const asking of left) {
        const { problems, log, sampling, count } = asking;
        const solver = new PolicySolver(policy, role, sampling, count);
        await answerRest(problems, log, solver, progress(asking));
      }
    } finally {
      releasePolicy(policy);
    }
  });
}

function fittingLengths<Problem, Variable extends string>(
  policy: Policy<Prompt<Variable>>,
  role: Role<Problem, Variable>,
  askings: readonly Asking<Problem>[],
): number[] {
  const room = promptRoom(policy);
  const lengths = askings.flatMap(({ problems }) => problems)
    .map((problem) => promptTokens(policy, role, problem).length);
  const fitting = lengths.filter((length) => length <= room);
  if (fitting.length > 0) return fitting;
  const { maximumResponse, config: { maxPositions } } = policy;
  throw new UserError(
    `None of the ${lengths.length} prompts has at most ${room} tokens, which the ${role.policy}'s ${maxPositions} ` +
      `positions leave beside an answer of ${maximumResponse}. Set a lower ${role.policy}.max_response_length, or take ` +
      "--config with prompts that are made for this model.",
  );
}

/** Says how far it is, now and then and at the end. */
function progress({ name, problems }: Asking<unknown>): (answered: number) => void {
  let said = performance.now();
  return (answered) => {
    if (answered < problems.length && performance.now() - said < SILENCE) return;
    said = performance.now();
    console.error(`${name}: ${answered} of ${problems.length} answered`);
  };
}
