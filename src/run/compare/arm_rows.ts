/** Runs of one comparison, arm by arm. */

import type { Arm } from "./arms.ts";
import type { StoredComparison } from "./comparison_folder.ts";
import type { RunRow } from "./run_row.ts";

/** The rows of one arm, in the order of the seeds. */
export interface ArmRows {
  readonly arm: Arm;
  readonly rows: readonly RunRow[];
}

/** Finished runs by arm, in the order of the arms. */
export function byArm(
  { arms }: Pick<StoredComparison, "arms">,
  rows: readonly RunRow[],
): ArmRows[] {
  return arms.map((arm) => ({ arm, rows: rows.filter((row) => row.arm === arm.name) }))
    .filter(({ rows }) => rows.length > 0);
}
