import { forwardSequences, type PassOptions } from "../../engine/training/forward.ts";
import { promptedSequence, type TrainingSequence } from "../../engine/training/sequence.ts";
import type { Trainer } from "../../engine/training/trainer.ts";
import type { Model } from "../../model/decoder/model.ts";
import type { AdamwNumbers } from "../../model/decoder/optimizer.ts";
import { type DuringPhase, unwatched } from "../schedule/step_phase.ts";
import type { SupervisedSample } from "./supervised_update.ts";

/** Two responses to one prompt. */
export interface PreferencePair {
  readonly prompt: Uint32Array;
  /** The better response's tokens. */
  readonly chosen: Uint32Array;
  /** The worse one's. */
  readonly rejected: Uint32Array;
}

/** Pairs of samples that follow one another, the better response first. */
export function pairsOf(samples: readonly SupervisedSample[]): PreferencePair[] {
  return Array.from({ length: samples.length / 2 }, (_, pair) => {
    const [{ prompt, response: chosen }, { response: rejected }] = samples.slice(2 * pair);
    return { prompt, chosen, rejected };
  });
}

/** How direct preference optimisation measures a response: reward = beta · (log π − log π_ref) of all its tokens. */
export interface PreferenceOptions {
  readonly beta: number;
  /** The weights that training began with. */
  readonly reference: Model;
}

/** How pairs are told apart; means over the pairs. The margin of a pair is its better response's reward less the other's. */
export interface PreferenceMeasure {
  /** −log σ(margin), nats. */
  readonly loss: number;
  /** Share of the pairs whose margin is above 0; one that is 0 counts half. */
  readonly accuracy: number;
  readonly margin: number;
  readonly chosenReward: number;
  readonly rejectedReward: number;
}

/** What an update says of itself; the measure is of the weights before it. */
export interface PreferenceUpdate extends PreferenceMeasure {
  readonly gradientNorm: number;
  readonly nonFinite: number;
  /** Tokens of the responses. */
  readonly tokens: number;
}

/** Rewards of a pair's responses. */
interface Rewards {
  readonly chosen: number;
  readonly rejected: number;
}

type Forward = Pick<Trainer, "forward" | "options" | "reducer">;

/** How well pairs are told apart; nothing is updated. The ranks that train the model call it together. */
export async function measurePreferences(
  trainer: Forward,
  pairs: readonly PreferencePair[],
  options: PreferenceOptions,
): Promise<PreferenceMeasure> {
  return measureOf(await rewardsOf(trainer, sequencesOf(pairs), options));
}

/**
 * One optimizer step of direct preference optimisation (DPO; Rafailov et al. 2023, arXiv 2305.18290): the mean over the
 * pairs of −log σ(margin). Its derivative by a log-prob of the better response is −beta · σ(−margin) / pairs, and the
 * opposite for the worse one: so what is propagated is a cross-entropy with these weights, which are known after a
 * forward pass.
 *
 * @param during runs the gradient and the step of the optimizer
 */
export async function updatePreferences(
  trainer: Trainer,
  pairs: readonly PreferencePair[],
  options: PreferenceOptions,
  adamw: AdamwNumbers,
  during: DuringPhase = unwatched,
): Promise<PreferenceUpdate> {
  const sequences = sequencesOf(pairs);
  const rewards = await during("forward_backward", async () => {
    const found = await rewardsOf(trainer, sequences, options);
    const weighted = sequences.map((sequence, n) => {
      const { chosen, rejected } = found[Math.floor(n / 2)];
      const pull = options.beta / (1 + Math.exp(chosen - rejected)) / pairs.length;
      const weights = new Float32Array(sequence.targets.length);
      return { ...sequence, weights: weights.fill(n % 2 === 0 ? pull : -pull) };
    });
    await trainer.forwardBackward(weighted, { name: "cross_entropy" });
    return found;
  });
  const { gradientNorm, nonFinite } = await during("optimizer", () => trainer.optimStep(adamw));
  const tokens = pairs.reduce(
    (sum, { chosen, rejected }) => sum + chosen.length + rejected.length,
    0,
  );
  return { ...measureOf(rewards), gradientNorm, nonFinite, tokens };
}

/** The better response of each pair and then the worse one, which may share the prompt's pass. */
function sequencesOf(pairs: readonly PreferencePair[]): TrainingSequence[] {
  return pairs.flatMap(({ prompt, chosen, rejected }) => [
    promptedSequence(prompt, chosen),
    promptedSequence(prompt, rejected),
  ]);
}

async function rewardsOf(
  trainer: Forward,
  sequences: readonly TrainingSequence[],
  { beta, reference }: PreferenceOptions,
): Promise<Rewards[]> {
  const passes: PassOptions = trainer.options;
  const own = await trainer.forward(sequences);
  const theirs = await forwardSequences(reference, sequences, passes, 1, trainer.reducer);
  // In float64: the difference of two sums of hundreds of log-probs.
  const rewards = own.map(({ logProbs }, n) =>
    beta * logProbs.reduce((sum, logProb, i) => sum + (logProb - theirs[n].logProbs[i]), 0)
  );
  return Array.from(
    { length: rewards.length / 2 },
    (_, pair) => ({ chosen: rewards[2 * pair], rejected: rewards[2 * pair + 1] }),
  );
}

function measureOf(rewards: readonly Rewards[]): PreferenceMeasure {
  const mean = (measure: (pair: Rewards) => number) =>
    rewards.reduce((sum, pair) => sum + measure(pair), 0) / rewards.length;
  const marginOf = ({ chosen, rejected }: Rewards) => chosen - rejected;
  return {
    // log(1 + exp(−margin)) without an overflow.
    loss: mean((pair) => {
      const margin = marginOf(pair);
      return Math.max(0, -margin) + Math.log1p(Math.exp(-Math.abs(margin)));
    }),
    accuracy: mean((pair) => (1 + Math.sign(marginOf(pair))) / 2),
    margin: mean(marginOf),
    chosenReward: mean(({ chosen }) => chosen),
    rejectedReward: mean(({ rejected }) => rejected),
  };
}
