import type { Activity } from "../store/timeline_log.ts";
import { type TimeInterval, within, without } from "./intervals.ts";
import type { Span } from "./span.ts";
import type { RankWaiting } from "./waiting.ts";

/** More spans of a rank in a step than this are put together. */
const MOST_SPANS = 24;
/** Stretches of equal length that a step is then cut into. */
const STRETCHES = 8;

/**
 * Activity of a rank in each step, every moment told once: the innermost phase, unless the rank waited or communicated.
 *
 * @param phases in which the rank was, each within another or beside it, in the order in which they ended
 * @returns by step, ascending; spans ascending and disjoint, and few even where a step waits a thousand times
 */
export function rankActivity(
  phases: readonly Span[],
  { idle, communicating }: RankWaiting,
): Map<number, readonly Activity[]> {
  const bySteps = [...Map.groupBy(phases, ({ phaseOf = 0 }) => phaseOf)].sort(([a], [b]) => a - b);
  const beginOf = (index: number) =>
    bySteps[index]?.[1].reduce((least, { begin }) => Math.min(least, begin), Infinity) ?? Infinity;
  return new Map(bySteps.map(([step, ofStep], index) => {
    // Time between two steps belongs to the earlier one.
    const stretch: TimeInterval = [index === 0 ? -Infinity : beginOf(index), beginOf(index + 1)];
    const waiting = {
      idle: within(idle, stretch),
      communicating: within(communicating, stretch),
    };
    return [step, few(partition(ofStep, waiting))];
  }));
}

function partition(phases: readonly Span[], { idle, communicating }: RankWaiting): Activity[] {
  const named = (name: string, intervals: readonly TimeInterval[]) =>
    intervals.map(([begin, end]): Activity => ({ name, begin, end }));
  const inOrder = (spans: Activity[]) => spans.sort((a, b) => a.begin - b.begin);
  const waits = inOrder([...named("idle", idle), ...named("communicate", communicating)]);
  return overlaid(inOrder(innermost(phases)), waits);
}

/** Lays one list over another, both ascending and disjoint: where both have a moment, the second one's counts. */
function overlaid(under: readonly Activity[], over: readonly Activity[]): Activity[] {
  const result: Activity[] = [];
  let next = 0;
  for (const { name, begin, end } of under) {
    let from = begin;
    for (; next < over.length && over[next].begin < end; next++) {
      const one = over[next];
      if (one.begin > from) result.push({ name, begin: from, end: one.begin });
      from = Math.max(from, one.end);
      // The activity goes on, maybe into the next ones of `under`.
      if (one.end > end) break;
      result.push(one);
    }
    if (from < end) result.push({ name, begin: from, end });
  }
  return [...result, ...over.slice(next)];
}

/** Phases without what others within them take. */
function innermost(phases: readonly Span[]): Activity[] {
  return phases.flatMap((phase, place) => {
    // Phases that ended earlier may lie within this one.
    const inner = phases.slice(0, place)
      .filter(({ begin, end }) => begin >= phase.begin && end <= phase.end)
      .map(({ begin, end }): TimeInterval => [begin, end]);
    return without([[phase.begin, phase.end]], inner)
      .map(([begin, end]) => ({ name: phase.name, begin, end }));
  });
}

/** Merges spans, where there are many: those of one name in a stretch of the step become one of as much time. */
function few(spans: readonly Activity[]): readonly Activity[] {
  if (spans.length <= MOST_SPANS) return spans;
  const begin = spans[0].begin;
  const length = spans[spans.length - 1].end - begin;
  const result: Activity[] = [];
  let first = 0;
  for (let stretch = 0; stretch < STRETCHES; stretch++) {
    const from = begin + stretch * length / STRETCHES;
    const to = begin + (stretch + 1) * length / STRETCHES;
    const durations = new Map<string, number>();
    while (first < spans.length && spans[first].end <= from) first++;
    for (let s = first; s < spans.length && spans[s].begin < to; s++) {
      const { name, begin, end } = spans[s];
      const duration = Math.min(end, to) - Math.max(begin, from);
      durations.set(name, (durations.get(name) ?? 0) + duration);
    }
    let at = from;
    for (const [name, duration] of durations) {
      append(result, { name, begin: at, end: at += duration });
    }
  }
  return result;
}

/** Two of one name that touch are one. */
function append(spans: Activity[], next: Activity): void {
  const last = spans.at(-1);
  const touches = last?.name === next.name && next.begin - last.end < 1e-6;
  if (last && touches) spans[spans.length - 1] = { ...last, end: next.end };
  else spans.push(next);
}
