import { exists } from "../../platform/files/atomic_file.ts";
import type { RecordLine } from "../store/audit_log.ts";
import { readJsonLines } from "../store/json_lines_log.ts";
import type { RunFolder } from "../store/run_folder.ts";

/** The end of a run's chain of records; null where it has none. */
export function chainEnd({ audit }: RunFolder): string | null {
  return exists(audit) ? readJsonLines<RecordLine>(audit).at(-1)?.chain ?? null : null;
}
