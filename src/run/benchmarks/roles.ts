import type { DataRecord } from "../../data/files/record.ts";
import { renderSteps } from "../../data/solution_text.ts";
import type { PolicyName } from "../../rl/policy.ts";
import { generatorTemplate, type Prompt, verifierTemplate } from "../../rl/prompt_template.ts";
import type { LabelledRecord } from "../tango/process_evaluation.ts";

/** How the problems of a kind of benchmark are put to a policy. */
export interface Role<Problem, Variable extends string> {
  readonly policy: PolicyName;
  /** Reads a prompt's file. */
  readonly template: (file: string) => Prompt<Variable>;
  /** What a problem's prompt is made of. */
  readonly values: (problem: Problem) => Readonly<Record<Variable, string | number>>;
}

/** A generator solves problems. */
export const solving: Role<DataRecord, "question"> = {
  policy: "generator",
  template: generatorTemplate,
  values: ({ question }) => ({ question }),
};

/** A verifier judges written solutions. */
export const judging: Role<LabelledRecord, "question" | "solution" | "steps"> = {
  policy: "verifier",
  template: verifierTemplate,
  values: ({ question, judged: { steps } }) => ({
    ...{ question, solution: renderSteps(steps), steps: steps.length },
  }),
};
