import type { Sampling } from "../../engine/sampling/rollout.ts";
import type { Policy, PolicyEngine } from "../../rl/policy.ts";
import type { Prompt } from "../../rl/prompt_template.ts";
import { respond } from "../../rl/respond.ts";
import { promptRoom } from "../../rl/verifier_prompt.ts";
import type { WrittenAnswer } from "../answers/answers_log.ts";
import type { Solver } from "../answers/answer_rest.ts";
import type { Role } from "./roles.ts";

/**
 * Answers asked for at once, to each sequence that is decoded at once: so many that hardly a slot waits for the last of
 * them, and so few that their tokens do not fill the memory.
 */
const ANSWERS_PER_SLOT = 32;

/** A policy on this GPU that answers problems. */
export class PolicySolver<Problem, Variable extends string> implements Solver<Problem> {
  /** @param count answers to each problem */
  constructor(
    private readonly policy: Policy<Prompt<Variable>>,
    private readonly role: Pick<Role<Problem, Variable>, "values">,
    private readonly sampling: Sampling,
    private readonly count: number,
  ) {}

  async solve(
    problems: readonly Problem[],
    first: number,
    heard: (place: number, answers: readonly WrittenAnswer[]) => void,
  ): Promise<void> {
    const { here } = this.policy.engine;
    if (here === null) throw new Error("the policy is on another rank");
    const most = Math.ceil(ANSWERS_PER_SLOT * here.sampler.slots / this.count);
    for (let begin = 0; begin < problems.length; begin += most) {
      await this.#solve(here, problems.slice(begin, begin + most), first + begin, heard);
    }
  }

  async #solve(
    here: PolicyEngine,
    problems: readonly Problem[],
    first: number,
    heard: (place: number, answers: readonly WrittenAnswer[]) => void,
  ): Promise<void> {
    const { policy, count } = this;
    const { tokenizer } = policy;
    const room = promptRoom(policy);
    const asked = problems.map((problem, p) => ({
      place: first + p,
      prompt: promptTokens(policy, this.role, problem),
      sequenceIds: Array.from({ length: count }, (_, i) => (first + p) * count + i),
    }));
    const fits = ({ prompt }: typeof asked[number]) => prompt.length <= room;
    for (const one of asked) {
      if (!fits(one)) heard(one.place, []);
    }
    const fitting = asked.filter(fits);
    const groups = fitting.map(() => new Map<number, WrittenAnswer>());
    await respond(here, policy, fitting, this.sampling, {
      ended({ rollout: { sequenceId, tokens, finished: isFinished } }, r) {
        const { place, sequenceIds } = fitting[r];
        const group = groups[r].set(sequenceId, { text: tokenizer.decode(tokens), isFinished });
        if (group.size === count) heard(place, sequenceIds.flatMap((id) => group.get(id) ?? []));
      },
    });
  }
}

/** The tokens of what a policy is asked about a problem. */
export function promptTokens<Problem, Variable extends string>(
  { tokenizer, template }: Pick<Policy<Prompt<Variable>>, "tokenizer" | "template">,
  { values }: Pick<Role<Problem, Variable>, "values">,
  problem: Problem,
): Uint32Array {
  return tokenizer.encode(template.render(values(problem)));
}
