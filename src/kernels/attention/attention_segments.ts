/** Lengths of sequences that begin with the same tokens, which the pack holds once. */
export interface PrefixGroupLengths {
  /** 0 when they have nothing in common. */
  readonly prefix: number;
  /** Tokens of each sequence after the prefix, none of them 0. */
  readonly continuations: readonly number[];
}

/**
 * For each token of a pack, which rows it attends to. A group lies in the pack as its prefix, then its
 * continuations one after the other; each of these is a segment.
 *
 * @returns [T, 4]: the first row of the token's segment; one past the last row that attends to the
 *   token; the first row of the segment's prefix; that prefix's length, 0 without one
 */
export function attentionSegments(groups: readonly PrefixGroupLengths[]): Uint32Array<ArrayBuffer> {
  const rows = new Uint32Array(4 * groups.reduce((sum, group) => sum + packedTokens(group), 0));
  let row = 0;
  const append = (count: number, start: number, end: number, prefix: number, length: number) => {
    for (const last = row + count; row < last; row++) {
      rows.set([start, end, prefix, length], 4 * row);
    }
  };
  for (const group of groups) {
    const first = row;
    append(group.prefix, first, first + packedTokens(group), first, 0);
    for (const length of group.continuations) {
      append(length, row, row + length, first, group.prefix);
    }
  }
  return rows;
}

/** How many rows the tokens of a pack attend to, all together. */
export function attendedRows(groups: readonly PrefixGroupLengths[]): number {
  const triangle = (length: number) => length * (length + 1) / 2;
  return groups.reduce(
    (total, { prefix, continuations }) =>
      continuations.reduce((sum, length) => sum + length * prefix + triangle(length), total) +
      triangle(prefix),
    0,
  );
}

/** Tokens that a pack holds of a group. */
export function packedTokens({ prefix, continuations }: PrefixGroupLengths): number {
  return continuations.reduce((sum, length) => sum + length, prefix);
}

/**
 * For each new token of a pack, which cached keys it attends to: those of its sequence up to its own.
 *
 * @param segments neighbouring tokens of one sequence: how many, the position of the first, and where the
 *   sequence's pages begin in the page table
 * @returns [T, 4]: the first row of the token's segment; one past its last row; where the pages begin; the
 *   position of the segment's first token
 */
export function pagedSegments(
  segments: readonly {
    readonly tokens: number;
    readonly position: number;
    readonly firstPage: number;
  }[],
): Uint32Array<ArrayBuffer> {
  const rows = new Uint32Array(4 * segments.reduce((sum, { tokens }) => sum + tokens, 0));
  let row = 0;
  for (const { tokens, position, firstPage } of segments) {
    const start = row;
    for (; row < start + tokens; row++) {
      rows.set([start, start + tokens, firstPage, position], 4 * row);
    }
  }
  return rows;
}
