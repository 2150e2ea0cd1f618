import { z } from "zod";
import { exists } from "../../platform/files/atomic_file.ts";
import { UserError } from "../../base/user_error.ts";
import { readJsonLines } from "../store/json_lines_log.ts";
import { recordKinds, type RecordLine } from "../store/audit_log.ts";
import type { RunFolder } from "../store/run_folder.ts";

const lineSchema = z.object({
  step: z.int().nonnegative(),
  phase: z.enum(recordKinds),
  parts: z.record(z.string(), z.string()),
  chain: z.string(),
});

/**
 * The records of a run, in their order.
 *
 * @throws UserError when there are none, or a line is not one
 */
export function readRecords({ path, audit }: RunFolder): RecordLine[] {
  if (!exists(audit)) {
    throw new UserError(
      `${path} has no ${audit}: it is a run of an earlier version, which kept no records. Train it anew to have them.`,
    );
  }
  const lines = readJsonLines(audit);
  if (lines.length === 0) {
    throw new UserError(
      `${audit} is empty: the run ended before its first record, and there is nothing to look at.`,
    );
  }
  return lines.map((line, index) => {
    const { data } = lineSchema.safeParse(line);
    if (data) return data;
    throw new UserError(
      `${audit}:${index + 1} is damaged: a record of a step was expected, found ` +
        `${JSON.stringify(line).slice(0, 60)}.`,
    );
  });
}
