/** `timeline.jsonl`: what each rank did when, a line for each step, and another for what came after it. */

import { JsonLinesLog, type StepLine } from "./json_lines_log.ts";

/** Activity of a rank: a phase of a step, or within it `idle` (waiting for another rank) or `communicate`. */
export interface Activity {
  readonly name: string;
  /** Milliseconds since 1970. */
  readonly begin: number;
  readonly end: number;
}

/** A line: short, for there may be a million of them. */
export interface TimelineLine extends StepLine {
  /** Milliseconds since 1970, before all that the line tells. */
  readonly at: number;
  /** Names of the activities. */
  readonly names: readonly string[];
  /**
   * For each rank three numbers an activity: its name's place in `names`, how long after the one before (the first:
   * after `at`) it began, and how long it took, in 0.1 ms.
   */
  readonly ranks: readonly (readonly number[])[];
}

/** Units of time in a millisecond. */
const UNITS = 10;

/** The log of timeline.jsonl. */
export class TimelineLog extends JsonLinesLog<TimelineLine> {}

/** A line of what the ranks did in a step. */
export function timelineLine(step: number, ranks: readonly (readonly Activity[])[]): TimelineLine {
  const all = ranks.flat();
  const names = [...new Set(all.map(({ name }) => name))];
  const at = Math.floor(all.reduce((least, { begin }) => Math.min(least, begin), Infinity));
  const units = (moment: number) => Math.round((moment - at) * UNITS);
  return {
    step,
    at,
    names,
    ranks: ranks.map((spans) => {
      let before = 0;
      return spans.flatMap(({ name, begin, end }) => {
        const length = units(end) - units(begin);
        if (length === 0) return [];
        const gap = units(begin) - before;
        before = units(end);
        return [names.indexOf(name), gap, length];
      });
    }),
  };
}

/** Activity of each rank, as a line has it. */
export function activityOf({ at, names, ranks }: TimelineLine): Activity[][] {
  return ranks.map((numbers) => {
    let end = 0;
    return Array.from({ length: Math.floor(numbers.length / 3) }, (_, place) => {
      const [name, gap, length] = numbers.slice(3 * place, 3 * place + 3);
      const begin = end + gap;
      end = begin + length;
      return { name: names[name], begin: at + begin / UNITS, end: at + end / UNITS };
    });
  });
}
