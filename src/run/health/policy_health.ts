import type { Placed } from "../../distributed/placed.ts";
import { allAgree } from "../../distributed/shared_work.ts";
import type { Model } from "../../model/decoder/model.ts";
import type { PolicyName } from "../../rl/policy.ts";
import { type Answered, isSound } from "../../rl/soundness.ts";
import type { RunEvents } from "../events/run_events.ts";
import { Divergence } from "./divergence.ts";

/** A policy whose health is watched. */
export interface WatchedPolicy {
  readonly engine: Placed<{ readonly model: Model }>;
  /** The configuration key of its optimizer; null when it is not trained. */
  readonly optimizerKey: string | null;
  /** Updates skipped in a row that end the run. */
  readonly maximumSkipped: number;
}

/** Updates skipped in a row, by policy; part of the checkpoint. */
export type SkippedInARow = { readonly [Policy in PolicyName]?: number };

/** The updates of a step, and whether they took effect. */
export interface StepUpdates {
  /** The policy that was to learn. */
  readonly learner: PolicyName;
  /** The policy whose numbers tell: the learner, or the other when what it wrote is noise. */
  readonly policy: PolicyName;
  /** Whether each update took effect. */
  readonly applied: readonly boolean[];
  /** The numbers that were not finite when an update took no effect: "log-probs are", say. */
  readonly what: string;
}

/** Numbers that are not finite, in words: so many elements of a gradient, or its norm alone, which counts as one. */
export function gradientTrouble(nonFinite: number): string {
  return nonFinite === 1 ? "gradient norm is" : `gradient has ${nonFinite} elements that are`;
}

/**
 * Watches whether the policies of a run still learn. An update whose gradient or log-probs are not finite
 * is skipped, which one batch may cause; several in a row mean that the weights have run away.
 */
export class PolicyHealth {
  readonly #inARow = new Map<PolicyName, number>();
  readonly #lastUpdate = new Map<PolicyName, number>();
  readonly #answers = new Map<PolicyName, Answered>();

  constructor(
    private readonly policies: { readonly [Policy in PolicyName]?: WatchedPolicy },
    private readonly events: RunEvents,
  ) {}

  /** Counts that go into a checkpoint, and come from it. */
  get skippedInARow(): SkippedInARow {
    return Object.fromEntries(this.#inARow);
  }

  set skippedInARow(counts: SkippedInARow) {
    this.#inARow.clear();
    for (const [policy, count] of Object.entries(counts)) {
      this.#inARow.set(policy as PolicyName, count);
    }
  }

  /** Remembers an answer of a policy, by which its soundness is judged. */
  remember(policy: PolicyName, answered: Answered): void {
    this.#answers.set(policy, answered);
  }

  /**
   * Counts the updates of a step that is done and told, and tells of skipped ones.
   *
   * @throws Divergence when too many were skipped in a row
   */
  count(step: number, { learner, policy, applied, what }: StepUpdates): void {
    let inARow = this.#inARow.get(policy) ?? 0;
    let most = inARow;
    for (const isApplied of applied) {
      inARow = isApplied ? 0 : inARow + 1;
      most = Math.max(most, inARow);
    }
    this.#inARow.set(policy, inARow);
    if (applied.includes(true)) this.#lastUpdate.set(policy, step);
    const skipped = applied.filter((isApplied) => !isApplied).length;
    if (skipped === 0) return;
    const { maximumSkipped } = this.#watched(policy);
    const cause = `the ${policy}'s ${what} not finite`;
    if (most >= maximumSkipped) {
      throw this.#divergence(
        policy,
        `Step ${step} ends the run: its update was skipped because ${cause}, ${most} in a row by now.`,
      );
    }
    const updates = applied.length === 1
      ? "update was"
      : `${skipped} of ${applied.length} updates were`;
    const limit = `${maximumSkipped} in a row end the run`;
    this.#warn(step, `the ${learner}'s ${updates} skipped because ${cause}; ${limit}`);
  }

  /**
   * Whether a checkpoint that is due is worth writing: while a policy's updates are skipped it may be
   * ruined already, and the checkpoint would push out a better one. Tells when not.
   */
  isWorthSaving(step: number): boolean {
    for (const [policy, count] of this.#inARow) {
      if (count === 0) continue;
      this.#warn(step, `no checkpoint while the ${policy}'s updates are skipped`);
      return false;
    }
    return true;
  }

  /** Whether the trained policies may be kept: their weights and log-probs are finite. Tells when not. */
  async maySave(step: number): Promise<boolean> {
    const policy = await this.#findUnsound();
    if (policy === null) return true;
    this.#warn(step, `not saved because the ${policy}'s weights or log-probs are not finite`);
    return false;
  }

  /**
   * Checks the policies at the end of a run.
   *
   * @throws Divergence when one may not be kept
   */
  async requireSound(step: number): Promise<void> {
    const policy = await this.#findUnsound();
    if (policy === null) return;
    throw this.#divergence(
      policy,
      `Step ${step} was the last, but the ${policy}'s weights or log-probs are not finite, so they are ` +
        `not written.`,
    );
  }

  async #findUnsound(): Promise<PolicyName | null> {
    for (const [policy, answered] of this.#answers) {
      const { engine: { all, here }, optimizerKey } = this.#watched(policy);
      if (optimizerKey === null) continue;
      const isSoundHere = here === null || await isSound(here.model, answered);
      if (!(await allAgree(all, isSoundHere))) return policy;
    }
    return null;
  }

  #warn(step: number, what: string): void {
    this.events.emit({ type: "warning", step, message: `step ${step}: ${what}` });
  }

  #divergence(policy: PolicyName, what: string): Divergence {
    const { optimizerKey } = this.#watched(policy);
    const lastUpdate = this.#lastUpdate.get(policy) ?? null;
    const message = `${what} ${adviceOn(policy, optimizerKey, lastUpdate)}`;
    return new Divergence(message, policy, optimizerKey, lastUpdate);
  }

  #watched(policy: PolicyName): WatchedPolicy {
    const watched = this.policies[policy];
    if (!watched) throw new Error(`there is no ${policy}`);
    return watched;
  }
}

/** Advice on a policy that does not learn any more. */
function adviceOn(
  policy: PolicyName,
  optimizerKey: string | null,
  lastUpdate: number | null,
): string {
  if (optimizerKey === null) return `The ${policy} is not trained: check its model's weights.`;
  const rate = `${optimizerKey}.learning_rate`;
  return lastUpdate === null
    ? `No update took effect, so the ${policy} is as it began: its model's weights, the loss or the sampling ` +
      `give these numbers, or ${rate} was too high before the run was gone on with.`
    : `The ${policy}'s updates were too large: lower ${rate}.`;
}
