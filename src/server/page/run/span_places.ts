import type { RankTimeline } from "../../runs/read_timeline.ts";

/** A gap longer than this share of all that was done is drawn as long as that. */
const LONGEST_GAP = 0.03;

/**
 * Where spans are drawn: one second after another, but where nothing was done for long, as between the parts of a
 * resumed run, a gap of a few.
 */
export function spanPlaces(ranks: readonly RankTimeline[]) {
  const spans = ranks.flatMap((rank) => rank.spans).sort((a, b) => a.begin - b.begin);
  const busy: { begin: number; end: number; step: number }[] = [];
  for (const { begin, end, step } of spans) {
    const last = busy.at(-1);
    if (last !== undefined && begin <= last.end) {
      last.end = Math.max(last.end, end);
      last.step = Math.max(last.step, step);
    } else busy.push({ begin, end, step });
  }
  const longest = LONGEST_GAP * busy.reduce((sum, { begin, end }) => sum + end - begin, 0);
  let place = 0;
  const starts = busy.map(({ begin, end }, index) => {
    const gap = index === 0 ? 0 : begin - busy[index - 1].end;
    place += Math.min(gap, longest);
    const start = { begin, place, skipped: gap > longest ? gap : 0 };
    place += end - begin;
    return start;
  });
  return {
    /** Seconds from the first place to the last. */
    length: place,
    /** @param moment within a span */
    placeOf: (moment: number) => {
      const start = starts.findLast(({ begin }) => begin <= moment);
      return start === undefined ? 0 : start.place + moment - start.begin;
    },
    /** Gaps that are drawn shorter: after which step, and how long they were. */
    gaps: starts.flatMap(({ skipped }, index) =>
      skipped === 0 ? [] : [{ step: busy[index - 1].step, seconds: skipped }]
    ),
  };
}
