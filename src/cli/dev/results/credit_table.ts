import { alignedTable } from "../../../base/table.ts";
import { measured, readRow } from "../../../run/compare/comparison_results.ts";
import { readRows, type RunRow } from "../../../run/compare/run_row.ts";
import { resultFile } from "./result_rows.ts";
import { percent, sourceBlock, spread } from "./result_words.ts";

/** What each arm of configs/arms/credit.yaml is called. */
const ARMS: Readonly<Record<string, string>> = {
  grpo: "GRPO alone",
  tango: "Tango",
  "grpo-long": "GRPO alone, as long by the clock",
  permuted: "Tango, judgments dealt out at random",
  oracle: "GRPO and true labels of steps",
  constant: "GRPO and praise for every step",
};

const COMMAND =
  "./tango compare --arms configs/arms/credit.yaml --steps 206 --seeds 12 --problems 2048 " +
  "--set evaluation.seed=20261130 --set schedule.test_frequency=28 --baseline grpo";

const atEnd = { generatorSteps: null, seconds: null };

/** The arms of the comparison at their ends. */
export function creditTable(): string {
  const rows = readRows(resultFile("credit/rows.jsonl"));
  const over = (own: readonly RunRow[], valueOf: (row: RunRow) => number | null) =>
    measured(own.map(valueOf));
  const table = alignedTable([
    ["arm", "seeds", "generator steps", "quickest, minutes", "accuracy", "every step right too"],
    ["warm start", "", "", "", percent(rows[0].evaluations[0].accuracy), ""],
    ...Object.entries(ARMS).map(([arm, name]) => {
      const own = rows.filter((row) => row.arm === arm);
      const seconds = own.map((row) => row.seconds).toSorted((a, b) => a - b);
      return [
        name,
        String(own.length),
        String(own[0].generatorSteps),
        // The quickest says most of what an arm takes: others ran beside other work.
        (seconds[0] / 60).toFixed(1),
        spread(over(own, (row) => readRow(row, atEnd).end.value)),
        spread(over(own, (row) => readRow(row, atEnd).sound)),
      ];
    }),
  ]);
  return `${table}\n\n${sourceBlock(COMMAND, rows)}`;
}
