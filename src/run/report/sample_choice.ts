import type { Sample } from "../store/samples_log.ts";

/** The verdict that counts for a sample: its first critique's; null without one that could be read. */
const verdictOf = ({ critiques }: Sample) => critiques[0]?.verdict ?? null;

/** Traits by which samples may be chosen. */
export const choosableTraits = {
  "correct": ({ correct }: Sample) => correct,
  "wrong": ({ correct }: Sample) => !correct,
  "judged-correct": (sample: Sample) => verdictOf(sample) === true,
  "judged-wrong": (sample: Sample) => verdictOf(sample) === false,
  "no-verdict": (sample: Sample) => sample.critiques.length > 0 && verdictOf(sample) === null,
  "no-answer": ({ answer }: Sample) => answer === null,
  "step-count-missed": ({ critiques, steps }: Sample) =>
    critiques.some(({ stepJudgments }) => stepJudgments.length !== steps.length),
} as const satisfies Readonly<Record<string, (sample: Sample) => boolean>>;
export type SampleTrait = keyof typeof choosableTraits;

const rewardOf = ({ rewards, critiques }: Sample) =>
  rewards?.outcome ?? critiques[0]?.reward ?? -Infinity;

/** Numbers by which samples may be ordered, the largest first. */
export const sampleOrders = {
  "newest": ({ step }: Sample) => step,
  "longest": ({ solution }: Sample) => solution.length,
  "most-steps": ({ steps }: Sample) => steps.length,
  "reward": rewardOf,
} as const satisfies Readonly<Record<string, (sample: Sample) => number>>;
export type SampleOrder = keyof typeof sampleOrders;

/** Which samples are shown. */
export interface SampleChoice {
  /** Traits that must all hold. */
  readonly traits: readonly SampleTrait[];
  readonly phase: Sample["phase"] | null;
  readonly firstStep: number;
  readonly lastStep: number;
  readonly order: SampleOrder;
  /** The smallest first instead. */
  readonly reversed: boolean;
  readonly count: number;
}

/** The samples asked for, and how many there are in all; equal ones stay in the order of the log. */
export function chooseSamples(
  samples: readonly Sample[],
  { traits, phase, firstStep, lastStep, order, reversed, count }: SampleChoice,
): { readonly chosen: Sample[]; readonly matching: number } {
  const matching = samples.filter((sample) =>
    (phase === null || sample.phase === phase) && sample.step >= firstStep &&
    sample.step <= lastStep && traits.every((trait) => choosableTraits[trait](sample))
  );
  const key = sampleOrders[order];
  const sign = reversed ? -1 : 1;
  const sorted = matching.toSorted((a, b) => {
    const [x, y] = [key(a), key(b)];
    return x === y ? 0 : sign * (x < y ? 1 : -1);
  });
  return { chosen: sorted.slice(0, count), matching: matching.length };
}
