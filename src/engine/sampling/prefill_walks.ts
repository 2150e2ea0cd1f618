/** Which rows of the cache are walked for the states of the sequences of a pass, and in which order. */

import type { Walk } from "../../kernels/delta/delta_walks.ts";
import type { Prefill } from "./prefill_plan.ts";

/** What the order of walks asks of a sequence of a pass. */
export type WalkedPrefill = Pick<Prefill, "first" | "end" | "begun"> & {
  readonly sequence: Pick<Prefill["sequence"], "tokens" | "stateRow">;
};

/** Tokens `begin` to `end` - 1 of a sequence of a pass. */
export interface Part {
  /** Which of the pass. */
  readonly place: number;
  readonly begin: number;
  readonly end: number;
  readonly walk: Walk;
}

/** A beginning of fewer rows is walked by each that has it: every beginning that is shared is one more launch to wait for. */
const leastShared = 16;

/** A member of a group whose tokens are the same so far. */
interface Member extends WalkedPrefill {
  readonly place: number;
  /** Row of the output of its first computed token. */
  readonly outputRow: number;
}

/** Where a group goes on: its first tokens that are not walked, and the state before them; null for zeros. */
interface Start {
  readonly begin: number;
  readonly state: number | null;
  /** Walks of a level read no state that another one of them leaves. */
  readonly level: number;
}

/**
 * The walks of a pass, each beginning that several sequences share once. What follows goes on from the state that it left,
 * and those that end there copy it, by a walk without rows.
 *
 * @param most rows that are walked at once
 * @returns stretches of walks, which are launched one after the other
 */
export function prefillWalks(pass: readonly WalkedPrefill[], most: number): Part[][] {
  const levels: Part[][] = [];
  let outputRow = 0;
  const members = pass.map((one, place): Member => {
    const member = { ...one, place, outputRow };
    outputRow += one.end - one.first;
    return member;
  });
  for (const { group, start } of roots(members)) plan(group, start, levels);
  return levels.flatMap((level) => cut(level, most));
}

/** Those that share what a pass before has begun go on from it, and all others begin. */
function roots(members: readonly Member[]): { group: Member[]; start: Start }[] {
  const begun = members.find((one) => one.begun > 0);
  const begin = begun?.begun ?? 0;
  const goesOn = (one: Member) =>
    one === begun ||
    begun !== undefined && one.first >= begin && one.end >= begin &&
      commonLength([begun, one], 0) >= begin;
  const { on = [], anew = [] } = Object.groupBy(members, (one) => goesOn(one) ? "on" : "anew");
  return [
    { group: on, start: { begin, state: begun?.sequence.stateRow ?? null, level: 0 } },
    { group: anew, start: { begin: 0, state: null, level: 0 } },
  ].filter(({ group }) => group.length > 0);
}

/** Tokens that all of a group begin with, of which the first `from` are known to be the same. */
function commonLength(group: readonly Member[], from: number): number {
  const [{ sequence: { tokens } }, ...others] = group;
  let length = Math.min(...group.map(({ end }) => end));
  for (const { sequence } of others) {
    let at = from;
    while (at < length && sequence.tokens[at] === tokens[at]) at++;
    length = at;
  }
  return length;
}

function plan(group: readonly Member[], start: Start, levels: Part[][]): void {
  const { begin, state, level } = start;
  const add = (one: Member, end: number, from = start) => {
    (levels[from.level] ??= []).push(partOf(one, from, end));
  };
  if (group.length === 1) return add(group[0], group[0].end);
  const common = commonLength(group, begin);
  // A row's output goes to one sequence: no other one may want it too.
  const [leader, second] = group.toSorted((a, b) => a.first - b.first || a.end - b.end);
  const shared = Math.min(common, second.first);
  if (shared - begin >= leastShared) {
    add(leader, shared);
    const next = { begin: shared, state: leader.sequence.stateRow, level: level + 1 };
    const isDone = ({ end }: Member) => end === shared;
    const done = group.filter((one) => one !== leader && isDone(one));
    for (const one of done) add(one, shared, next);
    const others = byToken(group.filter((one) => !isDone(one)), shared);
    planAll(others, next, done.length > 0, levels);
    return;
  }
  if (common - begin >= leastShared) {
    const [alone, rest] = [true, false].map((isAlone) =>
      group.filter(({ first }) => first - begin < leastShared === isAlone)
    );
    const groups = [...alone.map((one) => [one]), ...(rest.length > 0 ? [rest] : [])];
    return planAll(groups, start, false, levels);
  }
  const ended = group.filter(({ end }) => end === common);
  const others = byToken(group.filter(({ end }) => end > common), common);
  planAll([...ended.map((one) => [one]), ...others], { begin, state, level }, false, levels);
}

/** A group for each token that comes at a place. */
function byToken(members: readonly Member[], at: number): Member[][] {
  return [...Map.groupBy(members, ({ sequence }) => sequence.tokens[at]).values()];
}

/** Plans groups that go on from one state: the one whose member it belongs to changes it, once the others have read it. */
function planAll(
  groups: readonly (readonly Member[])[],
  start: Start,
  isRead: boolean,
  levels: Part[][],
): void {
  for (const group of groups) {
    const isOwn = group.some(({ sequence }) => sequence.stateRow === start.state);
    const waits = isOwn && (isRead || groups.length > 1);
    plan(group, waits ? { ...start, level: start.level + 1 } : start, levels);
  }
}

/** A sequence's walk from a start; its place among the rows comes later. */
function partOf({ place, first, outputRow, sequence }: Member, from: Start, end: number): Part {
  const { begin, state } = from;
  const walk = {
    row: 0,
    count: end - begin,
    start: state,
    end: sequence.stateRow,
    skipped: Math.max(0, Math.min(end, first) - begin),
    outputRow: outputRow + Math.max(0, begin - first),
    firstChild: 0,
    children: 0,
  };
  return { place, begin, end, walk };
}

/** Cuts walks that need not wait for one another into stretches of at most so many rows. */
function cut(parts: readonly Part[], most: number): Part[][] {
  const stretches: Part[][] = [[]];
  let row = 0;
  for (const { place, begin: from, end: last, walk } of parts) {
    let begin = from, start = walk.start;
    do {
      if (row === most) {
        stretches.push([]);
        row = 0;
      }
      const end = Math.min(last, begin + most - row);
      const done = begin - from;
      const skipped = Math.min(end - begin, Math.max(0, walk.skipped - done));
      const outputRow = walk.outputRow + Math.max(0, done - walk.skipped);
      const one = { ...walk, row, count: end - begin, start, skipped, outputRow };
      stretches[stretches.length - 1].push({ place, begin, end, walk: one });
      row += end - begin;
      start = walk.end;
      begin = end;
    } while (begin < last);
  }
  return stretches;
}
