import type { GeneratorTemplate, VerifierTemplate } from "../../rl/prompt_template.ts";
import type { SupervisedSample } from "../../rl/update/supervised_update.ts";
import type { HeldOutPart } from "./problems.ts";

/** The policy that is fine-tuned, and how it is prompted. */
export type PromptedPolicy =
  | { readonly policy: "generator"; readonly template: GeneratorTemplate }
  | { readonly policy: "verifier"; readonly template: VerifierTemplate };

/**
 * Examples that supervised fine-tuning imitates. With `preferences` each is two samples with the same prompt, the better
 * response first.
 */
export interface Examples extends Disposable {
  /** Records of the files that were gone through; part of the checkpoint. 0 for an embedded task. */
  position: number;
  /** Records in a pass through the files; null for an embedded task, which never ends. */
  readonly count: number | null;
  /** Passes through the files so far; null for an embedded task, which never ends. */
  readonly epochs: number | null;
  /** Report on the files' rows: how many were taken or left out, and why; null for an embedded task. */
  readonly report: string | null;
  /** The examples of an update. */
  draw(step: number, count: number): SupervisedSample[];
  /** Examples that no update draws, the same ones every time; fewer where there are no more. */
  heldOut(part: HeldOutPart): SupervisedSample[];
  /** Some examples, to know how long they get. */
  some(count: number): SupervisedSample[];
}
