import { exists } from "../../base/atomic_file.ts";
import type { Input } from "../record/inputs.ts";
import type { RecordLine } from "../store/audit_log.ts";

/** Something that two runs read, and that was not the same. */
export interface InputDifference {
  /** The configuration key that names it. */
  readonly key: string;
  /** Paths. */
  readonly a: string;
  readonly b: string;
  /** The first line in which two texts differ; null where they are no texts, or one is as it was no more. */
  readonly line: number | null;
}

/** What a run reads, and the record that it begins with. */
export interface Beginning {
  readonly inputs: readonly Input[];
  readonly start: Pick<RecordLine, "parts">;
}

/** What two runs read differently, by the digests that they began with. */
export function inputsDifference(a: Beginning, b: Beginning): InputDifference[] {
  return a.inputs.flatMap(({ key, path }) => {
    const other = b.inputs.find((input) => input.key === key);
    if (other === undefined || a.start.parts[key] === b.start.parts[key]) return [];
    return [{ key, a: path, b: other.path, line: firstLine(path, other.path) }];
  });
}

/** The first line that is another, counted from 1. */
function firstLine(a: string, b: string): number | null {
  if (a === b || ![a, b].every((path) => exists(path) && isText(path))) return null;
  const [first, second] = [a, b].map((path) => Deno.readTextFileSync(path).split("\n"));
  const line = first.findIndex((text, i) => text !== second[i]);
  if (line >= 0) return line + 1;
  return first.length === second.length ? null : first.length + 1;
}

const isText = (path: string) => /\.(jsonl?|csv|tsv|txt|jinja|ts|ya?ml)$/.test(path);
