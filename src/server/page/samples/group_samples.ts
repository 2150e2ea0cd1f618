import type { Sample } from "../../../run/store/samples_log.ts";

export interface ProblemGroup {
  readonly problem: string;
  readonly referenceAnswer: string;
  readonly samples: Sample[];
}

/** Samples by the problem they answer, in the order in which the problems first come. */
export function groupSamples(samples: readonly Sample[]): ProblemGroup[] {
  const groups = new Map<string, ProblemGroup>();
  for (const sample of samples) {
    const { problem, referenceAnswer } = sample;
    const group = groups.get(problem) ?? { problem, referenceAnswer, samples: [] };
    group.samples.push(sample);
    groups.set(problem, group);
  }
  return [...groups.values()];
}
