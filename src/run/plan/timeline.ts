import type { SharedSamplingCost, StepCost } from "./step_cost.ts";

/** A step that is to be placed in time. */
export interface TimedStep {
  readonly phase: "generator" | "verifier";
  readonly cost: StepCost;
}

/** Time that several steps take. */
export interface Timeline {
  /** Seconds from the beginning of the first step to the end of the last. */
  readonly seconds: number;
  /** Seconds in which each rank waited for another one: not at work, nor sending or receiving. */
  readonly idleSeconds: readonly number[];
  /** Seconds spent exchanging, the same on every rank that takes part; the mean over ranks. */
  readonly exchangeSeconds: number;
  /** Bytes sent by a rank, the mean over ranks. */
  readonly bytesSent: number;
}

const slowest = (seconds: readonly number[]) => Math.max(...seconds);
const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);

/**
 * Steps on ranks that hold both policies: rollout, verification, continuation and update follow one another, and each of them
 * ends for all when the slowest rank has ended it.
 */
export function colocatedTimeline(steps: readonly TimedStep[], ranks: number): Timeline {
  const idle = new Array<number>(ranks).fill(0);
  let seconds = 0, exchangeSeconds = 0, bytesSent = 0;
  const together = (each: readonly number[]) => {
    const longest = slowest(each);
    seconds += longest;
    each.forEach((own, rank) => idle[rank] += longest - own);
  };
  for (const { cost } of steps) {
    const { rollout, verification, continuation } = cost;
    const { gradientSeconds, optimizerSeconds, reduction } = cost;
    together(rollout.seconds);
    if (verification) together(verification.seconds);
    if (continuation) together(continuation.seconds);
    together(gradientSeconds);
    seconds += optimizerSeconds;
    const sampled = [rollout, verification, continuation];
    const exchanged = sum(sampled.map((one) => one?.exchange.seconds ?? 0)) +
      reduction.seconds;
    exchangeSeconds += exchanged;
    seconds += exchanged;
    bytesSent += sum(sampled.map((one) => one?.exchange.bytesSent ?? 0)) +
      reduction.bytesSent;
  }
  return { seconds, idleSeconds: idle, exchangeSeconds, bytesSent };
}

/**
 * Steps on ranks of which some hold the generator and the others the verifier. Solutions are judged as they end: a
 * verification ends when all its work is done, counted from the first solution, and no sooner than the longest
 * critique takes after the last one. The generator goes on from the ends of steps when all is judged. The verifier's own update goes on while the generator's ranks sample the next
 * step's solutions, which do not depend on it; everything else waits for what it needs.
 */
export function splitTimeline(
  steps: readonly TimedStep[],
  ranks: { readonly generator: number; readonly verifier: number },
): Timeline {
  const size = ranks.generator + ranks.verifier;
  // When each side is free, and what its ranks have been busy with.
  let generatorFree = 0, verifierFree = 0, exchangeSeconds = 0, bytesSent = 0;
  const busy = {
    generator: new Array<number>(ranks.generator).fill(0),
    verifier: new Array<number>(ranks.verifier).fill(0),
  };
  const work = (side: keyof typeof busy, each: readonly number[]) =>
    each.forEach((seconds, rank) => busy[side][rank] += seconds);
  const exchange = (side: keyof typeof busy, seconds: number, bytes: number) => {
    busy[side].forEach((_, rank) => busy[side][rank] += seconds);
    exchangeSeconds += seconds * ranks[side] / size;
    bytesSent += bytes * ranks[side] / size;
  };
  for (const { phase, cost } of steps) {
    const { rollout, verification, continuation } = cost;
    const { gradientSeconds, optimizerSeconds, reduction } = cost;
    const began = generatorFree;
    const sampled = began + slowest(rollout.seconds) + rollout.exchange.seconds;
    work("generator", rollout.seconds);
    exchange("generator", rollout.exchange.seconds, rollout.exchange.bytesSent);
    generatorFree = sampled;
    let ready = sampled;
    if (verification) {
      const begins = Math.max(verifierFree, began + rollout.firstEnd);
      ready = verifiedAt(begins, sampled, verification);
      work("verifier", verification.seconds);
      exchange("verifier", verification.exchange.seconds, verification.exchange.bytesSent);
      verifierFree = ready;
    }
    if (continuation) {
      work("generator", continuation.seconds);
      exchange("generator", continuation.exchange.seconds, continuation.exchange.bytesSent);
      ready += slowest(continuation.seconds) + continuation.exchange.seconds;
      generatorFree = ready;
    }
    const seconds = slowest(gradientSeconds) + reduction.seconds + optimizerSeconds;
    work(phase, gradientSeconds.map((own) => own + optimizerSeconds));
    exchange(phase, reduction.seconds, reduction.bytesSent);
    if (phase === "generator") generatorFree = ready + seconds;
    else verifierFree = ready + seconds;
  }
  const total = Math.max(generatorFree, verifierFree);
  const idleSeconds = [...busy.generator, ...busy.verifier].map((own) => total - own);
  return { seconds: total, idleSeconds, exchangeSeconds, bytesSent };
}

function verifiedAt(begins: number, sampled: number, verification: SharedSamplingCost): number {
  const { seconds, longestAlone, exchange } = verification;
  return Math.max(begins + slowest(seconds), sampled + longestAlone) + exchange.seconds;
}
