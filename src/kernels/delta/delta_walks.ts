import type { PrefixGroupLengths } from "../attention/attention_segments.ts";

/** Words of a walk: `Walk` of delta_walk.wgsl. */
export const walkWords = 8;

/** Rows that are walked one after the other. */
export interface Walk {
  /** The first row. */
  readonly row: number;
  readonly count: number;
  /** The state that it begins with; null for zeros. */
  readonly start: number | null;
  /** The state that receives its last; null for none. */
  readonly end: number | null;
  /** Rows at the front without an output. */
  readonly skipped: number;
  /** Row of the output of the first row that has one. */
  readonly outputRow: number;
  /** The walks that go on from it, of the same list. */
  readonly firstChild: number;
  readonly children: number;
}

/** A walk by itself, with an output for each row. */
export const plainWalk = (row: number, count: number): Walk => ({
  ...{ row, count, start: null, end: null, skipped: 0, outputRow: row },
  ...{ firstChild: 0, children: 0 },
});

/** @returns u32 [N, 8] as the kernels take it */
export function walkArray(walks: readonly Walk[]): Uint32Array<ArrayBuffer> {
  const words = new Uint32Array(walkWords * walks.length);
  const state = (number: number | null) => number === null ? 0 : number + 1;
  walks.forEach(({ row, count, start, end, skipped, outputRow, firstChild, children }, i) =>
    words.set(
      [row, count, state(start), state(end), skipped, outputRow, firstChild, children],
      walkWords * i,
    )
  );
  return words;
}

/** The walks of a pack. */
export interface PackWalks {
  /** First those that begin with zeros, then those that go on from one of them. */
  readonly walks: readonly Walk[];
  /** How many begin with zeros. */
  readonly beginnings: number;
  /** States that are handed on, one of each beginning that several sequences share. */
  readonly states: number;
}

/** The walks of a pack of groups, each of which lies there as its prefix, then its continuations. */
export function packWalks(groups: readonly PrefixGroupLengths[]): PackWalks {
  const beginnings: Walk[] = [], others: Walk[] = [];
  let row = 0, states = 0;
  const shared = new Map<Walk, { first: number; children: number }>();
  for (const { prefix, continuations } of groups) {
    if (prefix > 0) {
      const beginning = { ...plainWalk(row, prefix), end: states };
      shared.set(beginning, { first: others.length, children: continuations.length });
      beginnings.push(beginning);
      row += prefix;
    }
    for (const length of continuations) {
      if (prefix > 0) others.push({ ...plainWalk(row, length), start: states });
      else beginnings.push(plainWalk(row, length));
      row += length;
    }
    if (prefix > 0) states++;
  }
  const walks = [
    ...beginnings.map((walk) => {
      const { first = 0, children = 0 } = shared.get(walk) ?? {};
      return { ...walk, firstChild: beginnings.length + first, children };
    }),
    ...others,
  ];
  return { walks, beginnings: beginnings.length, states };
}
