/** `audit.jsonl`: what every step came from, as digests in a chain, so that the same run always writes the same bytes. */

import { truncateSync } from "../../platform/system/files.ts";
import { exists } from "../../platform/files/atomic_file.ts";
import { linesOf } from "../../platform/files/lines.ts";
import { JsonLinesLog, type StepLine } from "./json_lines_log.ts";

/**
 * What a record is of: the beginning of a run, a step of a policy, an evaluation, the weights of a checkpoint, or the
 * models that a run leaves in the end.
 */
export const recordKinds = [
  "start",
  "generator",
  "verifier",
  "evaluation",
  "weights",
  "models",
] as const;
export type RecordKind = typeof recordKinds[number];

/** Digests (SHA-256, hexadecimal) by what they are of, in the order in which it came about. */
export type Parts = Readonly<Record<string, string>>;

/** A line of audit.jsonl. */
export interface RecordLine extends StepLine {
  readonly phase: RecordKind;
  readonly parts: Parts;
  /** The chain's end once this record is part of it. */
  readonly chain: string;
}

/** Where a resumed run goes on. */
export interface LoggedSoFar {
  /** The checkpoint's step. */
  readonly lastStep: number;
  /** End of the chain in the checkpoint; empty where it has none. */
  readonly chain: string;
}

/** The log of audit.jsonl. */
export class AuditLog extends JsonLinesLog<RecordLine> {
  /**
   * @param resumed where to go on: records after that end of the chain are removed, and all where there is no end
   * @throws UserError as `JsonLinesLog` does
   */
  constructor(path: string, resumed?: LoggedSoFar) {
    if (resumed && exists(path)) cutAfter(path, resumed.chain);
    super(path, resumed && (resumed.chain === "" ? -1 : resumed.lastStep));
  }
}

/** Removes what comes after the record with which a chain ends; nothing where there is none. */
function cutAfter(path: string, end: string): void {
  let bytes = 0;
  for (const line of linesOf(path)) {
    bytes += new TextEncoder().encode(line).length + 1;
    if (end !== "" && line.endsWith(`"chain":"${end}"}`)) return truncateSync(path, bytes);
  }
}
