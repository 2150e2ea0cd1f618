/** The file by which a process tells whoever started it why it failed. */

import { type FailureReason, failureReasonSchema, reasonOf } from "../../base/failure_reason.ts";
import { exists, writeFileAtomically } from "../files/atomic_file.ts";

/** Names the file in which a process that fails writes why; whoever started it reads that. */
export const REASON_FILE = "TANGO_REASON_FILE";

/** What a process has written into such a file; null where it has said nothing that is understood. */
export function readReason(path: string): FailureReason | null {
  if (!exists(path)) return null;
  try {
    return failureReasonSchema.parse(JSON.parse(Deno.readTextFileSync(path)));
  } catch {
    return null; // a program of another version has written it
  }
}

/** Writes why this process fails, where somebody wants to know. */
export function writeReason(error: unknown): void {
  const path = Deno.env.get(REASON_FILE);
  const reason = reasonOf(error);
  if (path !== undefined && reason !== null) writeFileAtomically(path, JSON.stringify(reason));
}
