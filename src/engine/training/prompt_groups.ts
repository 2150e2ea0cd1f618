import type { PrefixGroup } from "../../model/decoder/packed_batch.ts";
import type { TrainingSequence } from "./sequence.ts";

/**
 * Cuts sequences into runs of neighbours with the same prompt, which a pass computes once for each run. The
 * prompt is what lies before the first prediction, with the token that makes it.
 *
 * @param share false leaves every sequence by itself; a number takes at most so many together
 */
export function groupByPrompt<Sequence extends TrainingSequence>(
  sequences: readonly Sequence[],
  share: boolean | number,
): Sequence[][] {
  const most = share === true ? Infinity : Number(share);
  const groups: Sequence[][] = [];
  for (const sequence of sequences) {
    const group = groups.at(-1);
    if (group && group.length < most && samePrompt(group[0], sequence)) group.push(sequence);
    else groups.push([sequence]);
  }
  return groups;
}

function samePrompt(a: TrainingSequence, b: TrainingSequence): boolean {
  // A sequence with nothing before its first prediction has no prompt to share.
  if (a.first === 0 || a.first !== b.first) return false;
  for (let i = 0; i <= a.first; i++) if (a.tokens[i] !== b.tokens[i]) return false;
  return true;
}

/**
 * The tokens of a group as a pack holds them. The token that makes the first prediction belongs to each
 * sequence, for its predictions differ.
 */
export function promptPrefixGroup(group: readonly TrainingSequence[]): PrefixGroup {
  const shared = sharedTokens(group);
  return {
    prefix: group[0].tokens.subarray(0, shared),
    continuations: group.map(({ tokens }) => tokens.subarray(shared)),
  };
}

/** Tokens that a pack holds of a group. */
export function promptGroupTokens(group: readonly TrainingSequence[]): number {
  const shared = sharedTokens(group);
  return group.reduce((sum, { tokens }) => sum + tokens.length - shared, shared);
}

function sharedTokens(group: readonly TrainingSequence[]): number {
  return group.length === 1 ? 0 : group[0].first;
}

/** The row of a sequence that predicts first, by the one past its last. */
const firstPredicting = ({ tokens, first }: TrainingSequence, end: number) =>
  end - tokens.length + first;

/**
 * Where prompts begin in a pack, and what follows them: with the same cuts whether or not a prompt is shared, so that a
 * group that loses sequences keeps its runs.
 *
 * @param sequenceEnds one past each sequence's last row
 */
export function runStarts(
  groups: readonly (readonly TrainingSequence[])[],
  sequenceEnds: readonly number[],
): number[] {
  const starts: number[] = [];
  let s = 0;
  for (const group of groups) {
    starts.push(s === 0 ? 0 : sequenceEnds[s - 1]);
    for (const sequence of group) starts.push(firstPredicting(sequence, sequenceEnds[s++]));
  }
  return starts;
}

/**
 * The rows of a pack that predict, what each predicts, and where each sequence's begin among them; R of them.
 *
 * @param sequenceEnds one past each sequence's last row
 */
export function predictingRows(
  sequences: readonly TrainingSequence[],
  sequenceEnds: readonly number[],
): { rows: Uint32Array<ArrayBuffer>; targets: Uint32Array<ArrayBuffer>; starts: number[] } {
  const count = sequences.reduce((sum, { targets }) => sum + targets.length, 0);
  const rows = new Uint32Array(count);
  const targets = new Uint32Array(count);
  const starts: number[] = [];
  let at = 0;
  sequences.forEach((sequence, s) => {
    targets.set(sequence.targets, at);
    starts.push(at);
    const first = firstPredicting(sequence, sequenceEnds[s]);
    for (let i = 0; i < sequence.targets.length; i++) rows[at++] = first + i;
  });
  return { rows, targets, starts };
}
