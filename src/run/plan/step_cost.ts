import { type ExchangeCost, exchangeCost, reductionCost } from "./exchange_cost.ts";
import type { GpuDescription } from "./gpu_description.ts";
import type { PlannedRun } from "./planned_run.ts";
import type { PolicyWork } from "./rehearsed_work.ts";
import { drawLengths } from "./response_lengths.ts";
import { type PlannedResponse, samplingCost } from "./sampling_cost.ts";
import { type TrainedGroup, updateCost } from "./update_cost.ts";

/** Cost of sampling by several ranks, each its share of the prompts. */
export interface SharedSamplingCost {
  /** Seconds of each rank. */
  readonly seconds: readonly number[];
  /** Seconds of each rank in which less than half of its slots are in use. */
  readonly tailSeconds: readonly number[];
  /** When the first response is there, and how long the longest of the last ones takes by itself. */
  readonly firstEnd: number;
  readonly longestAlone: number;
  /** Bringing all responses to all ranks. */
  readonly exchange: ExchangeCost;
}

/** Costs of a training step's phases. */
export interface StepCost {
  readonly rollout: SharedSamplingCost;
  /** Null where nobody judges. */
  readonly verification: SharedSamplingCost | null;
  /** Going on from the ends of solutions' steps; null where nothing does. */
  readonly continuation: SharedSamplingCost | null;
  /** Gradients, of each rank that trains. */
  readonly gradientSeconds: readonly number[];
  readonly optimizerSeconds: number;
  readonly reduction: ExchangeCost;
}

/** How many ranks hold each policy, and how many there are. */
export interface PlannedRanks {
  readonly generator: number;
  readonly verifier: number;
  readonly all: number;
}

/** Bytes of a sampled token as ranks exchange it: the token, its log-prob, and its text. */
const bytesPerToken = 16;

/** Bytes that ranks exchange about a beginning that was gone on from. */
const bytesPerBeginning = 16;

/** Streams of `drawLengths`. */
const solutionStream = 1, critiqueStream = 2;

/** Prompts are dealt out one after another, each with all its responses. Where there are more ranks, some have none. */
function shareSampling(
  gpu: GpuDescription,
  { config: { rollout } }: PlannedRun,
  policy: PolicyWork,
  prompts: readonly (readonly PlannedResponse[])[],
  ranks: number,
  all: number,
  exchangedBytes = bytesPerToken * tokensOf(prompts.flat()),
): SharedSamplingCost {
  const settings = {
    slots: rollout.decode_slots,
    stepsBetweenReadbacks: rollout.steps_between_readbacks,
  };
  const costs = Array.from({ length: ranks }, (_, rank) => {
    const own = prompts.filter((_, p) => p % ranks === rank).flat();
    return samplingCost(gpu.rates, policy, own, settings);
  });
  const longest = prompts.flat().reduce((a, b) => a.length > b.length ? a : b);
  return {
    seconds: costs.map(({ seconds }) => seconds),
    tailSeconds: costs.map(({ tailSeconds }) => tailSeconds),
    firstEnd: Math.min(...costs.flatMap(({ ends }) => ends.slice(0, 1))),
    longestAlone: samplingCost(gpu.rates, policy, [longest], settings).seconds,
    exchange: exchangeCost(gpu, all, exchangedBytes, ranks),
  };
}

const tokensOf = (responses: readonly PlannedResponse[]) =>
  responses.reduce((sum, { length }) => sum + length, 0);

/** Solutions of each problem; the first computes the problem, the others find it in the cache. */
function solutionsOf(
  { lengths: { problem, solution } }: PlannedRun,
  problems: number,
  each: number,
): PlannedResponse[][] {
  const drawn = drawLengths(solution, problems * each, solutionStream);
  return Array.from(
    { length: problems },
    (_, p) =>
      drawn.slice(p * each, (p + 1) * each).map((length, i) => ({
        promptTokens: problem,
        newTokens: i === 0 ? problem : 1,
        length,
      })),
  );
}

/**
 * Critiques of each solution, those of one solution together. A rank that has judged a solution of the same problem
 * before finds the question in its cache.
 *
 * @param ranks that solutions are dealt out to, one after another
 */
function critiquesOf(
  { lengths: { judgment, critique } }: PlannedRun,
  solutions: readonly (readonly PlannedResponse[])[],
  each: number,
  ranks: number,
): PlannedResponse[][] {
  const count = solutions.flat().length * each;
  const drawn = drawLengths(critique, count, critiqueStream);
  let next = 0;
  return solutions.flatMap((group) =>
    group.map(({ length: solution }, s) => {
      const first = s < ranks ? judgment + solution : solution;
      return Array.from({ length: each }, (_, i) => ({
        promptTokens: judgment + solution,
        newTokens: i > 0 ? 1 : first,
        length: drawn[next++],
      }));
    })
  );
}

/**
 * Continuations from the ends of steps, those of one solution together. A solution's steps, and what follows the last,
 * are of one length; numbers of steps differ by one at most and have the mean that was planned. The longer beginnings
 * find the shorter ones in the cache, and continuations of one their beginning. A rank that goes on with a solution of
 * the same problem before finds the question there.
 *
 * @param each continuations of each beginning
 * @param fromLast whether also from the end of the last step
 * @param ranks that solutions are dealt out to, one after another
 */
function continuationsOf(
  { lengths: { problem, solution: { maximum }, steps } }: PlannedRun,
  solutions: readonly (readonly PlannedResponse[])[],
  each: number,
  fromLast: boolean,
  ranks: number,
): PlannedResponse[][] {
  let before = 0;
  return solutions.flatMap((group) =>
    group.map(({ length: solution }, s) => {
      const count = Math.floor((before + 1) * steps) - Math.floor(before * steps);
      before++;
      const ends = Array.from(
        { length: fromLast ? count : Math.max(0, count - 1) },
        (_, k) => Math.round(solution * (k + 1) / (count + 1)),
      ).filter((end) => end < maximum);
      let cached = s < ranks ? 0 : problem;
      return ends.flatMap((end) => {
        const promptTokens = problem + end;
        const newTokens = Math.max(1, promptTokens - cached);
        cached = promptTokens;
        const length = Math.max(1, solution - end);
        return Array.from(
          { length: each },
          (_, i) => ({ promptTokens, newTokens: i === 0 ? newTokens : 1, length }),
        );
      });
    })
  );
}

/** Going on from the ends of solutions' steps; null where there are none. */
function continuationCost(
  gpu: GpuDescription,
  run: PlannedRun,
  solutions: readonly (readonly PlannedResponse[])[],
  fromLast: boolean,
  ranks: PlannedRanks,
): SharedSamplingCost | null {
  const { config: { rewards: { prefix_continuations: each } }, generator } = run;
  const continued = continuationsOf(run, solutions, each, fromLast, ranks.generator);
  const count = continued.flat().length;
  if (count === 0) return null;
  const bytes = bytesPerBeginning * count / each;
  return shareSampling(gpu, run, generator, continued, ranks.generator, ranks.all, bytes);
}

/** The update of a policy with its responses. */
function trainedBy(
  gpu: GpuDescription,
  { config: { loss, reduction } }: PlannedRun,
  { update }: PolicyWork,
  groups: readonly TrainedGroup[],
  ranks: number,
): Pick<StepCost, "gradientSeconds" | "optimizerSeconds" | "reduction"> {
  if (update === null) throw new Error("a frozen policy is not trained");
  const { gradientSeconds, optimizerSeconds, updates } = updateCost(
    gpu.rates,
    update,
    groups,
    {
      sharePrompts: loss.share_prompts,
      microBatchTokens: loss.micro_batch_tokens,
      shards: reduction.shards,
      miniBatches: loss.mini_batches,
      epochs: loss.epochs,
    },
    ranks,
  );
  const perRank = reduction.shards / ranks;
  const sums = Number.isInteger(Math.log2(perRank)) ? 1 : 2;
  const { parameters, weightBytes, referenceBytes } = update;
  const once = reductionCost(gpu, ranks, { gradients: 4 * parameters, weights: weightBytes }, sums);
  const brought = referenceBytes / gpu.hostRate;
  return {
    gradientSeconds: gradientSeconds.map((seconds) => seconds + brought),
    optimizerSeconds,
    reduction: { seconds: updates * once.seconds, bytesSent: updates * once.bytesSent },
  };
}

const groupOf = (responses: readonly PlannedResponse[]): TrainedGroup => ({
  promptTokens: responses[0].promptTokens,
  lengths: responses.map(({ length }) => length),
});

/**
 * A generator step: n solutions of each of B problems, m critiques of each, perhaps continuations from the ends of
 * their steps, the generator's update.
 *
 * @param isWarmup without a verifier
 * @param ranks that hold the generator, and those that hold the verifier
 */
export function generatorStepCost(
  gpu: GpuDescription,
  run: PlannedRun,
  isWarmup: boolean,
  ranks: PlannedRanks,
): StepCost {
  const { config: { rollout, advantage }, generator, verifier } = run;
  const solutions = solutionsOf(run, rollout.batch_size, rollout.group_size);
  return {
    rollout: shareSampling(gpu, run, generator, solutions, ranks.generator, ranks.all),
    verification: verifier && !isWarmup
      ? shareSampling(
        gpu,
        run,
        verifier,
        critiquesOf(run, solutions, rollout.verifications_per_solution, ranks.verifier),
        ranks.verifier,
        ranks.all,
      )
      : null,
    continuation: advantage.judgments === "prefix" && !isWarmup
      ? continuationCost(gpu, run, solutions, false, ranks)
      : null,
    ...trainedBy(gpu, run, generator, solutions.map(groupOf), ranks.generator),
  };
}

/**
 * A verifier step: candidates of solutions of each of B problems, n critiques of B of them, perhaps continuations from the ends of its
 * steps, the verifier's update.
 */
export function verifierStepCost(
  gpu: GpuDescription,
  run: PlannedRun,
  ranks: PlannedRanks,
): StepCost {
  const { config: { rollout, rewards }, generator, verifier } = run;
  if (verifier === null) throw new Error("a verifier step without a verifier");
  const solutions = solutionsOf(run, rollout.batch_size, 1);
  const critiques = critiquesOf(
    run,
    solutions,
    rollout.critiques ?? rollout.group_size,
    ranks.verifier,
  );
  const sampled = solutionsOf(run, rollout.batch_size, rollout.candidates);
  return {
    rollout: shareSampling(gpu, run, generator, sampled, ranks.generator, ranks.all),
    verification: shareSampling(gpu, run, verifier, critiques, ranks.verifier, ranks.all),
    continuation: rewards.verifier_steps === "prefix"
      ? continuationCost(gpu, run, solutions, true, ranks)
      : null,
    ...trainedBy(gpu, run, verifier, critiques.map(groupOf), ranks.verifier),
  };
}

/** Measuring both policies on the held-out problems, in seconds. */
export function evaluationSeconds(
  gpu: GpuDescription,
  run: PlannedRun,
  ranks: PlannedRanks,
): number {
  const { config: { evaluation, schedule }, generator, verifier, heldOut } = run;
  const slowest = ({ seconds, exchange }: SharedSamplingCost) =>
    Math.max(...seconds) + exchange.seconds;
  const solve = (each: number) =>
    slowest(
      shareSampling(
        gpu,
        run,
        generator,
        solutionsOf(run, heldOut, each),
        ranks.generator,
        ranks.all,
      ),
    );
  const solved = solve(evaluation.samples) * (schedule.keep_best ? 2 : 1);
  if (verifier === null) return solved;
  const fresh = solutionsOf(run, heldOut, 1);
  const judged = shareSampling(
    gpu,
    run,
    verifier,
    critiquesOf(run, fresh, evaluation.samples, ranks.verifier),
    ranks.verifier,
    ranks.all,
  );
  return solved + solve(1) + slowest(judged);
}

/** Bytes of a checkpoint: weights and both moments of all that is trained, 4 bytes each. */
export function checkpointBytes({ generator, verifier }: PlannedRun): number {
  const trained = [generator, verifier].map((policy) => policy?.update?.parameters ?? 0);
  return 12 * trained.reduce((sum, parameters) => sum + parameters, 0);
}
