import type { Activity } from "../store/timeline_log.ts";
import { type Interval, union, within, without } from "./intervals.ts";
import type { Span } from "./span.ts";
import type { RankWaiting } from "./waiting.ts";

/** More spans of a rank in a step than this are put together. */
const MOST_SPANS = 24;
/** Into so many parts is a step cut then. */
const PARTS = 8;

/**
 * What a rank did in each step, every moment told once: the innermost phase, unless the rank waited or communicated.
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
    // What lies between two steps belongs to the earlier one.
    const stretch: Interval = [index === 0 ? -Infinity : beginOf(index), beginOf(index + 1)];
    const waiting = {
      idle: within(idle, stretch),
      communicating: within(communicating, stretch),
    };
    return [step, few(partition(ofStep, waiting))];
  }));
}

function partition(phases: readonly Span[], { idle, communicating }: RankWaiting): Activity[] {
  const named = (name: string, intervals: readonly Interval[]) =>
    intervals.map(([begin, end]): Activity => ({ name, begin, end }));
  const waiting = [...idle, ...communicating];
  const byName = Map.groupBy(innermost(phases), ({ name }) => name);
  return [
    ...[...byName].flatMap(([name, spans]) =>
      named(name, without(spans.map(({ begin, end }) => [begin, end]), waiting))
    ),
    ...named("idle", union(idle)),
    ...named("communicate", union(communicating)),
  ].sort((a, b) => a.begin - b.begin);
}

/** Phases without what others within them take. */
function innermost(phases: readonly Span[]): Activity[] {
  return phases.flatMap((phase, place) => {
    // Those that ended first are the inner ones.
    const inner = phases.slice(0, place)
      .filter(({ begin, end }) => begin >= phase.begin && end <= phase.end)
      .map(({ begin, end }): Interval => [begin, end]);
    return without([[phase.begin, phase.end]], inner)
      .map(([begin, end]) => ({ name: phase.name, begin, end }));
  });
}

/** The same time under each name in few spans: where there are many, those of one name in a part of the step are one. */
function few(spans: readonly Activity[]): readonly Activity[] {
  if (spans.length <= MOST_SPANS) return spans;
  const begin = spans[0].begin;
  const length = Math.max(...spans.map(({ end }) => end)) - begin;
  const result: Activity[] = [];
  let first = 0;
  for (let part = 0; part < PARTS; part++) {
    const from = begin + part * length / PARTS;
    const to = begin + (part + 1) * length / PARTS;
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
