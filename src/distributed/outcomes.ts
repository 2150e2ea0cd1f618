/** Tasks that may fail on one rank: they then fail on all, so that none waits for what will not come. */

import { Failure } from "../base/failure.ts";
import { UserError } from "../base/user_error.ts";
import { type Communicator, ExchangeFailure } from "./communicator.ts";
import { broadcastValue, gatherValues } from "./values.ts";

/** Time for the others to hear of a failure. */
const TELLING_MS = 2000;

/** The failure of another rank, as this one was told. */
export class FailureElsewhere extends Failure {
  /**
   * @param culprit the rank, among all of the run
   * @param words what it said
   */
  constructor(readonly culprit: number, readonly words: string) {
    super(`Rank ${culprit} failed: ${words}`);
  }
}

/** The user's mistake that another rank failed with, as this one was told. */
export class MistakeElsewhere extends UserError {
  /** Parameters as for `FailureElsewhere`. */
  constructor(readonly culprit: number, readonly words: string) {
    super(`Rank ${culprit} failed: ${words}`);
  }
}

/** Result or failure of a task, as a rank tells it to the others. */
export type Outcome<Value> =
  | { readonly value: Value }
  | {
    readonly failure: string;
    readonly isMistake: boolean;
    /** The rank of the run whose failure it is, when it is not that of the one who tells; null when that is not known. */
    readonly culprit?: number | null;
  };

/**
 * Lets every rank do its task, and gives each what all of them returned, in the order of the ranks.
 *
 * @throws what this rank's task threw, or else what `valueOf` throws for another rank's
 */
export async function gatherOutcomes<Value>(
  all: Communicator,
  task: () => Promise<Value>,
): Promise<Value[]> {
  const outcomes = await told(task, (own) => gatherValues(all, own));
  return outcomes.map((outcome, rank) => valueOf(outcome, rank, all));
}

/**
 * Lets one rank do a task, and tells the others what it returned.
 *
 * @throws as `gatherOutcomes` does
 */
export async function broadcastOutcome<Value>(
  all: Communicator,
  root: number,
  task: () => Promise<Value>,
): Promise<Value> {
  const nothing: Outcome<Value> = { failure: "nothing was told", isMistake: false };
  const outcome = all.rank === root
    ? await told(task, (own) => broadcastValue(all, own, root))
    : await broadcastValue(all, nothing, root);
  return valueOf(outcome, root, all);
}

/** Does a task and tells what came of it; its own error is thrown once it is told. */
async function told<Value, Answer>(
  task: () => Promise<Value>,
  tell: (own: Outcome<Value>) => Promise<Answer>,
): Promise<Answer> {
  let value: Value;
  try {
    value = await task();
  } catch (error) {
    // An error while telling the others matters less than the one to tell. They may be in the middle of another
    // exchange, and then never listen.
    await inTime(tell(failureOf(error)).catch(() => {}));
    throw error;
  }
  return await tell({ value });
}

/** Returns when the others have heard, or have had the time for it. */
export async function inTime(telling: Promise<unknown>): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise((resolve) => timer = setTimeout(resolve, TELLING_MS));
  await Promise.race([telling, late]);
  clearTimeout(timer);
}

/** An error as it is told. */
export function failureOf(error: unknown): Outcome<never> {
  const isMistake = error instanceof UserError;
  if (error instanceof FailureElsewhere || error instanceof MistakeElsewhere) {
    return { failure: error.words, isMistake, culprit: error.culprit };
  }
  const failure = error instanceof Error ? error.message : String(error);
  return error instanceof ExchangeFailure
    ? { failure, isMistake, culprit: null }
    : { failure, isMistake };
}

/**
 * The result of a rank's task.
 *
 * @throws FailureElsewhere or MistakeElsewhere when it failed; ExchangeFailure when another one did and it is not known
 *   which
 */
export function valueOf<Value>(
  outcome: Outcome<Value>,
  rank: number,
  { members }: Communicator,
): Value {
  if ("value" in outcome) return outcome.value;
  const { failure, isMistake, culprit = members[rank] } = outcome;
  if (culprit === null) throw new ExchangeFailure(failure);
  throw isMistake ? new MistakeElsewhere(culprit, failure) : new FailureElsewhere(culprit, failure);
}
