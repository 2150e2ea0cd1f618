import { recordKey } from "../audit/record_name.ts";
import type { Parts, RecordLine } from "../store/audit_log.ts";

/** Where two runs part. */
export interface Parting {
  /** The first record that is not the same in both; that of the run which has it where the other has none. */
  readonly record: RecordLine;
  /** Its first part that is another; null where only one run has such a record. */
  readonly part: string | null;
  /** Parts before it, which are the same. */
  readonly same: readonly string[];
}

/** Texts that a run keeps of a step, as many as it was asked to: what they were made of has parts of its own. */
const KEPT = "samples";

/** Whether each run has such a record at the same steps, however often it saves and measures. */
const isOfEveryStep = ({ phase }: RecordLine) => phase === "generator" || phase === "verifier";

/**
 * The first record in which two runs part, but for those of their beginnings; null where one is as the other, from where
 * both have records to where both went.
 *
 * A part is looked for in the order in which it came about: what comes after it may only follow from it.
 */
export function recordsDifference(
  a: readonly RecordLine[],
  b: readonly RecordLine[],
): Parting | null {
  const others = new Map(b.map((record) => [recordKey(record), record]));
  const first = Math.max(a[0].step, b[0].step);
  const last = Math.min(lastStep(a), lastStep(b));
  for (const record of a) {
    // What is of the step after which one run's records began, it may have made before.
    const isShared = record.step <= last && (record.step > first || first === 0);
    if (record.phase === "start" || !isShared) continue;
    const other = others.get(recordKey(record));
    if (other === undefined && !isOfEveryStep(record)) continue;
    if (other === undefined) return { record, part: null, same: [] };
    const names = inOrder(record.parts, other.parts).filter((name) => name !== KEPT);
    const place = names.findIndex((name) => record.parts[name] !== other.parts[name]);
    if (place >= 0) return { record, part: names[place], same: names.slice(0, place) };
  }
  return null;
}

/** The last step of a run. */
export const lastStep = (records: readonly RecordLine[]) => records[records.length - 1].step;

/** The names of both records' parts in the order in which they came about: each after what is before it in its own. */
function inOrder(a: Parts, b: Parts): string[] {
  const names = Object.keys(a);
  let before = -1;
  for (const name of Object.keys(b)) {
    const place = names.indexOf(name);
    if (place < 0) names.splice(before + 1, 0, name);
    before = place < 0 ? before + 1 : place;
  }
  return names;
}
