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
  const rows: number[] = [];
  const push = (count: number, segment: readonly number[]) => {
    for (let i = 0; i < count; i++) rows.push(...segment);
  };
  let first = 0;
  for (const { prefix, continuations } of groups) {
    const groupEnd = continuations.reduce((sum, length) => sum + length, first + prefix);
    push(prefix, [first, groupEnd, first, 0]);
    let start = first + prefix;
    for (const length of continuations) {
      push(length, [start, start + length, first, prefix]);
      start += length;
    }
    first = groupEnd;
  }
  return Uint32Array.from(rows);
}
