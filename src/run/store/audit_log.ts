/** `audit.jsonl`: what every step came from, as digests in a chain, so that the same run always writes the same bytes. */

import { JsonLinesLog, type StepLine } from "./json_lines_log.ts";

/** What a record is of: the beginning of a run, a step of a policy, an evaluation, or the weights that were saved. */
export type RecordKind = "start" | "generator" | "verifier" | "evaluation" | "weights";

/** Digests (SHA-256, hexadecimal) by what they are of, in the order in which it came about. */
export type Parts = Readonly<Record<string, string>>;

/** A line of audit.jsonl. */
export interface RecordLine extends StepLine {
  readonly phase: RecordKind;
  readonly parts: Parts;
  /** The chain's end once this record is part of it. */
  readonly chain: string;
}

/** The log of audit.jsonl. */
export class AuditLog extends JsonLinesLog<RecordLine> {}
