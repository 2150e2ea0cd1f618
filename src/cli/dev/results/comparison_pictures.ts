import { writeFileAtomically } from "../../../platform/files/atomic_file.ts";
import { byArm } from "../../../run/compare/arm_rows.ts";
import { drawComparison } from "../../../run/compare/comparison_chart.ts";
import { comparisonFiles, openComparison } from "../../../run/compare/comparison_folder.ts";
import { readRows } from "../../../run/compare/run_row.ts";
import { resultFile } from "./result_rows.ts";

/** Comparisons of bench/results that a page shows. */
const COMPARISONS = ["credit", "dose", "long-chains"];

/** Draws the comparisons' curves from their rows. */
export function drawComparisons(): void {
  for (const path of COMPARISONS.map(resultFile)) {
    const { curves, rows } = comparisonFiles(path);
    writeFileAtomically(curves, drawComparison(byArm(openComparison(path), readRows(rows))));
  }
}
