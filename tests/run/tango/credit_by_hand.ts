/**
 * What a run's samples say of rewards worked out again in float64, formula by formula as papers and the Tango reference
 * have them, with none of the engine's own functions: advantages of every token, and the losses that they make.
 */

import assert from "node:assert/strict";
import { readJsonLines } from "../../../src/run/store/json_lines_log.ts";
import type { MetricsLine } from "../../../src/run/store/metrics_log.ts";
import { unpackNumbers } from "../../../src/run/store/packed_numbers.ts";
import { RunFolder } from "../../../src/run/store/run_folder.ts";
import type { Sample } from "../../../src/run/store/samples_log.ts";

/** How a run was credited: sum to go of steps, or of tokens, and the outcome, mixed by α and weights. */
export interface ByHand {
  readonly estimator: "grpo" | "rloo" | "reinforce++";
  readonly groupSize: number;
  readonly outcomeWeight: number;
  readonly processWeight: number;
  /** w of the outcome reward. */
  readonly groundTruthWeight: number;
  /** Whose rewards the process part has; null: nobody's. */
  readonly process: "steps" | "tokens" | null;
}

const mean = (values: readonly number[]) => values.reduce((a, b) => a + b, 0) / values.length;

interface Row {
  readonly tokens: number;
  readonly outcome: number;
  /** Rewards laid on tokens. */
  readonly rewards: readonly { readonly token: number; readonly reward: number }[];
}

/** The token that holds a character of a text whose tokens have these lengths. */
function tokenAt(lengths: readonly number[], character: number): number {
  let end = 0;
  return lengths.findIndex((length) => (end += length) > character);
}

function rowOf(sample: Sample, { process, groundTruthWeight: w }: ByHand): Row {
  assert.ok(sample.tokens && sample.rewards);
  const lengths = unpackNumbers(sample.tokens.lengths);
  const { ground_truth: right, score } = sample.rewards;
  const outcome = score === undefined ? right : w * right + (1 - w) * score;
  if (process === "tokens") {
    const rewards = unpackNumbers(sample.tokens.rewards ?? []);
    assert.equal(rewards.length, lengths.length);
    return {
      tokens: lengths.length,
      outcome,
      rewards: rewards.map((reward, token) => ({ reward, token })),
    };
  }
  const ends = [...sample.solution.matchAll(/<step>[^]*?<\/step>/g)]
    .map(({ index, 0: { length } }) => tokenAt(lengths, index + length - 1));
  const rewards = process === null ? [] : (sample.stepRewards ?? [])
    .map((reward, step) => ({ reward, token: ends[step] }));
  return { tokens: lengths.length, outcome, rewards };
}

/** Sums of the rewards that lie on a token or after it. */
const toGo = ({ tokens, rewards }: Row, changed = (reward: number) => reward) =>
  Array.from(
    { length: tokens },
    (_, t) =>
      rewards.filter(({ token }) => token >= t).reduce((sum, one) => sum + changed(one.reward), 0),
  );

/** (x − mean) / √(sample variance + 1e-8) over all numbers of some rows. */
function whitened(rows: readonly (readonly number[])[]): number[][] {
  const all = rows.flat(), centre = mean(all);
  const variance = all.reduce((sum, x) => sum + (x - centre) ** 2, 0) / (all.length - 1);
  return rows.map((row) => row.map((x) => (x - centre) / Math.sqrt(variance + 1e-8)));
}

/** (x − mean) / (sample std + 1e-6). */
function standardised(values: readonly number[]): number[] {
  const centre = mean(values);
  const variance = values.reduce((sum, x) => sum + (x - centre) ** 2, 0) / (values.length - 1);
  return values.map((x) => (x - centre) / (Math.sqrt(variance) + 1e-6));
}

function outcomeRows(groups: readonly (readonly Row[])[], { estimator }: ByHand): number[][] {
  if (estimator === "reinforce++") {
    return whitened(
      groups.flat().map(({ tokens, outcome }) => new Array<number>(tokens).fill(outcome)),
    );
  }
  if (estimator === "grpo") {
    return groups.flatMap((group) => {
      const made = standardised(group.map(({ outcome }) => outcome));
      return group.map(({ tokens }, i) => new Array<number>(tokens).fill(made[i]));
    });
  }
  return groups.flatMap((group) =>
    group.map(({ tokens, outcome }, own) => {
      const others = group.filter((_, i) => i !== own).map((other) => other.outcome);
      return new Array<number>(tokens).fill(outcome - mean(others));
    })
  );
}

function processRows(
  groups: readonly (readonly Row[])[],
  { estimator, process }: ByHand,
): number[][] {
  const rows = groups.flat();
  if (process === null) return rows.map(({ tokens }) => new Array<number>(tokens).fill(0));
  if (estimator === "reinforce++") {
    const rewarded = rows.filter(({ rewards }) => rewards.length > 0);
    const made = whitened(rewarded.map((row) => toGo(row)));
    return rows.map((row) =>
      row.rewards.length > 0 ? made[rewarded.indexOf(row)] : new Array<number>(row.tokens).fill(0)
    );
  }
  if (estimator === "grpo") {
    return groups.flatMap((group) => {
      const rewards = group.flatMap((row) => row.rewards.map(({ reward }) => reward));
      const made = standardised(rewards);
      let first = 0;
      return group.map((row) => {
        const own = made.slice(first, first += row.rewards.length);
        return toGo({ ...row, rewards: row.rewards.map((one, k) => ({ ...one, reward: own[k] })) });
      });
    });
  }
  return groups.flatMap((group) =>
    group.map((row, own) => {
      const others = group.filter((_, i) => i !== own)
        .map(({ rewards }) => rewards.map(({ reward }) => reward));
      // Of steps the mean over all, of tokens (PRIME) the mean of the responses' means.
      const pooled = others.flat();
      if (pooled.length === 0) return new Array<number>(row.tokens).fill(0);
      const baseline = process === "steps" ? mean(pooled) : mean(others.map(mean));
      return toGo(row, (reward) => reward - baseline);
    })
  );
}

/**
 * Expects the advantages of every token and the policy loss of every generator step, and of a reward model's steps the
 * cross-entropy, to be those worked out by hand. The run logs all samples of each step, makes one update a step, and its
 * policy loss is of ratios that are 1.
 *
 * @returns how many tokens had an advantage, and how many of them one of the process part
 */
export function expectCreditByHand(
  run: string,
  settings: ByHand,
): { outcome: number; process: number } {
  const folder = RunFolder.open(run);
  const samples = Map.groupBy(
    readJsonLines<Sample>(folder.samples),
    ({ step, phase }) => `${step} ${phase}`,
  );
  const counts = { outcome: 0, process: 0 };
  for (const line of readJsonLines<MetricsLine>(folder.metrics)) {
    const own = samples.get(`${line.step} ${line.phase}`) ?? [];
    if (line.phase === "verifier" && "verifier/loss" in line) {
      const losses = own.map(({ correct, rewards }) =>
        -Math.log(correct ? Number(rewards?.score) : 1 - Number(rewards?.score))
      );
      close(mean(losses), Number(line["verifier/loss"]), 1e-9, `step ${line.step}, loss`);
    }
    if (line.phase !== "generator") continue;
    const alpha = Number(line["generator/alpha"]);
    const { groupSize, outcomeWeight, processWeight } = settings;
    const rows = own.map((sample) => rowOf(sample, settings));
    const groups = Array.from(
      { length: rows.length / groupSize },
      (_, g) => rows.slice(g * groupSize, (g + 1) * groupSize),
    );
    const outcome = outcomeRows(groups, settings), process = processRows(groups, settings);
    const spread = rows.map(({ rewards }) =>
      rewards.reduce((sum, { reward }) => sum + Math.abs(reward), 0)
    );
    let sum = 0, tokens = 0;
    own.forEach(({ tokens: trained }, i) => {
      const logged = unpackNumbers(trained?.advantages ?? []);
      logged.forEach((advantage, t) => {
        const ofOutcome = (1 - alpha) * outcomeWeight * outcome[i][t];
        const ofProcess = alpha * processWeight * process[i][t];
        const expected = ofOutcome + ofProcess;
        // Advantages are logged to four digits, and so are the rewards of tokens that are summed up.
        const rounded = settings.process === "tokens" ? spread[i] : 0;
        const bound = 1e-3 * (Math.abs(ofOutcome) + Math.abs(ofProcess)) + 2e-4 +
          5e-4 * alpha * processWeight * rounded;
        close(advantage, expected, bound, `step ${line.step}, response ${i}, token ${t}`);
        if (ofOutcome !== 0) counts.outcome++;
        if (ofProcess !== 0) counts.process++;
        sum += expected;
        tokens++;
      });
    });
    // Ratios are 1, and the loss the mean of −A; some sums of responses stand for all of it.
    close(
      Number(line["generator/policy_loss"]),
      -sum / tokens,
      2e-3,
      `step ${line.step}, policy loss`,
    );
  }
  return counts;
}

function close(found: number, expected: number, bound: number, what: string): void {
  assert.ok(Math.abs(found - expected) <= bound, `${what}: ${found}, by hand ${expected}`);
}
