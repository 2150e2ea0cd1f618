import { recordKey } from "../audit/records.ts";
import type { RecordLine } from "../store/audit_log.ts";

/** Where two runs part. */
export interface Parting {
  /** The first record that is not the same in both; that of the run which went further where the other has none. */
  readonly record: RecordLine;
  /** Its first part that is another; null where only one run has such a record. */
  readonly part: string | null;
  /** Parts before it, which are the same. */
  readonly same: readonly string[];
}

/** Parts that say what a run goes by in its beginning, not what came of it. */
const isBeginning = ({ phase }: RecordLine) => phase === "start";

/**
 * The first record in which two runs part, but for those of their beginnings; null where one is as the other, as far as
 * both went.
 *
 * A part is looked for in the order in which it came about: what comes after it may only follow from it.
 */
export function recordsDifference(
  a: readonly RecordLine[],
  b: readonly RecordLine[],
): Parting | null {
  const others = new Map(b.map((record) => [recordKey(record), record]));
  const last = Math.min(lastStep(a), lastStep(b));
  for (const record of a.filter((one) => !isBeginning(one) && one.step <= last)) {
    const other = others.get(recordKey(record));
    // That one saves or evaluates where the other does not changes nothing of what is computed.
    if (other === undefined && ["evaluation", "weights"].includes(record.phase)) continue;
    if (other === undefined) return { record, part: null, same: [] };
    const names = [...new Set([...Object.keys(record.parts), ...Object.keys(other.parts)])];
    const first = names.findIndex((name) => record.parts[name] !== other.parts[name]);
    if (first >= 0) return { record, part: names[first], same: names.slice(0, first) };
  }
  return null;
}

const lastStep = (records: readonly RecordLine[]) => records[records.length - 1].step;
