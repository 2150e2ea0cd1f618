import { exists } from "../../platform/files/atomic_file.ts";
import { firstDifferentLine } from "../../platform/files/lines.ts";
import { digestOfInput, type Input } from "../record/inputs.ts";
import type { Parts } from "../store/audit_log.ts";

/** Something that two runs read, and that was not the same. */
export interface InputDifference {
  /** The configuration key that names it. */
  readonly key: string;
  /** Paths. */
  readonly a: string;
  readonly b: string;
  /** The first line in which two texts differ; null where they are no texts, or one is not as it was any more. */
  readonly line: number | null;
}

/** What a run reads, and the digests that it began with. */
export interface Beginning {
  readonly inputs: readonly Input[];
  readonly parts: Parts;
}

/** What two runs read differently, by the digests that they began with. */
export async function inputsDifference(a: Beginning, b: Beginning): Promise<InputDifference[]> {
  const differences: InputDifference[] = [];
  for (const one of a.inputs) {
    const { key, path } = one;
    const other = b.inputs.find((input) => input.key === key);
    const [digest, otherDigest] = [a.parts[key], b.parts[key]];
    if (!other || digest === undefined || otherDigest === undefined || digest === otherDigest) {
      continue;
    }
    const areAsTheyWere = isText(path) && isText(other.path) &&
      await digestOfInput(one) === digest && await digestOfInput(other) === otherDigest;
    const line = areAsTheyWere ? firstDifferentLine(path, other.path) : null;
    differences.push({ key, a: path, b: other.path, line });
  }
  return differences;
}

const isText = (path: string) =>
  /\.(jsonl?|ndjson|csv|tsv|txt|jinja|ts)$/.test(path) && exists(path) &&
  Deno.statSync(path).isFile;
