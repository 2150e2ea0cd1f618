/**
 * @import { RankSpans, Span } from "../contract.ts"
 */

/**
 * The innermost spans: what holds others is told by those.
 *
 * @param {readonly Span[]} spans of one rank
 * @returns {Span[]} in the order in which they began
 */
export function innermost(spans) {
  const inOrder = [...spans].sort((a, b) => a.begin - b.begin || b.end - a.end);
  // Ends are the clock's milliseconds and beginnings are reckoned back from them.
  const blur = 0.002;
  return inOrder.filter(({ end }, place) => {
    const next = inOrder[place + 1];
    return next === undefined || next.begin >= end - blur || next.end > end + blur;
  });
}

/**
 * How long each thing took, all ranks together, the longest first.
 *
 * @param {readonly RankSpans[]} ranks
 * @returns {{ name: string, seconds: number, share: number }[]}
 */
export function spanTotals(ranks) {
  /** @type {Map<string, number>} */
  const seconds = new Map();
  for (const { name, begin, end } of ranks.flatMap(({ spans }) => spans)) {
    seconds.set(name, (seconds.get(name) ?? 0) + end - begin);
  }
  const all = [...seconds.values()].reduce((sum, value) => sum + value, 0);
  return [...seconds.entries()]
    .map(([name, value]) => ({ name, seconds: value, share: all === 0 ? 0 : value / all }))
    .sort((a, b) => b.seconds - a.seconds);
}

/**
 * When the first began and the last ended.
 *
 * @param {readonly RankSpans[]} ranks
 */
export function spanBounds(ranks) {
  const spans = ranks.flatMap((rank) => rank.spans);
  return {
    begin: spans.reduce((least, { begin }) => Math.min(least, begin), spans[0]?.begin ?? 0),
    end: spans.reduce((most, { end }) => Math.max(most, end), spans[0]?.end ?? 0),
  };
}
