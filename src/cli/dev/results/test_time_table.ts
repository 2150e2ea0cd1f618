import { mean } from "../../../base/statistics.ts";
import { alignedTable } from "../../../base/table.ts";
import { type MeasuredRow, numberOf, readMeasuredRows, readSources } from "./result_rows.ts";
import { percent, sourceBlock } from "./result_words.ts";

const FILE = "chains/test_time.jsonl";

/** What of a run was measured how: samples of each problem, critiques of each, and whose. */
interface Measurement {
  readonly k: number;
  readonly critiques?: number;
  readonly isOfWarmStart?: boolean;
}

/** A way to choose an answer. */
interface Way extends Measurement {
  readonly label: string;
  readonly metric: string;
  /** Tokens a problem, of those of a solution and of a critique. */
  readonly tokens: (solution: number, critique: number, row: MeasuredRow) => number;
}

const WAYS: readonly Way[] = [
  {
    ...{ k: 8, critiques: 1, label: "one sample", metric: "eval/generator/accuracy" },
    tokens: (solution) => solution,
  },
  {
    ...{ k: 8, critiques: 1, label: "the majority of 8", metric: "eval/generator/maj_at_8" },
    tokens: (solution) => 8 * solution,
  },
  {
    ...{ k: 64, label: "the majority of 64", metric: "eval/generator/maj_at_64" },
    tokens: (solution) => 64 * solution,
  },
  {
    ...{ k: 8, critiques: 1, isOfWarmStart: true, metric: "eval/generator/vote_at_8" },
    label: "8, a vote weighted by the warm start's critiques",
    tokens: (solution, critique) => 8 * (solution + critique),
  },
  {
    ...{ k: 8, critiques: 1, metric: "eval/generator/bon_at_8" },
    label: "8, the best by one greedy critique of each",
    tokens: (solution, critique) => 8 * (solution + critique),
  },
  {
    ...{ k: 8, critiques: 1, metric: "eval/generator/vote_at_8" },
    label: "8, a vote weighted by these critiques",
    tokens: (solution, critique) => 8 * (solution + critique),
  },
  {
    ...{ k: 8, critiques: 4, metric: "eval/generator/vote_at_8" },
    label: "8, a vote weighted by four critiques of each",
    tokens: (solution, critique) => 8 * (solution + 4 * critique),
  },
  {
    ...{ k: 8, critiques: 4, metric: "eval/rewriting/accuracy_after" },
    label: "one, rewritten twice where a step is flagged",
    tokens: (solution, _, row) =>
      solution + numberOf(row, "eval/rewriting/generator_tokens") +
      numberOf(row, "eval/rewriting/verifier_tokens"),
  },
];

const tens = (value: number) => (10 * Math.round(value / 10)).toLocaleString("en-US");

/** What a verifier is worth at test time, a column for each seed of the default run. */
export function testTimeTable(): string {
  const rows = readMeasuredRows(FILE);
  const seeds = [...new Set(rows.map(({ seed }) => seed))];
  const rowOf = (seed: number, what: string, isIt: (row: MeasuredRow) => boolean) => {
    const row = rows.find((one) => one.seed === seed && isIt(one));
    if (row === undefined) throw new Error(`${FILE} has nothing of seed ${seed} for: ${what}`);
    return row;
  };
  const table = alignedTable([
    ["right of", ...seeds.map((seed) => `seed ${seed}`), "tokens a problem"],
    ...WAYS.map(({ label, metric, tokens, k, critiques, isOfWarmStart = false }) => {
      const own = seeds.map((seed) =>
        rowOf(
          seed,
          label,
          (row) =>
            row.policy === "generator" && row.k === k && row.critiques === critiques &&
            (row.verifier !== undefined) === isOfWarmStart,
        )
      );
      const spent = own.map((row) => {
        const verifier = rowOf(row.seed, "its critiques", ({ policy }) => policy === "verifier");
        return tokens(
          numberOf(row, "eval/generator/mean_length"),
          numberOf(verifier, "eval/verifier/mean_length"),
          row,
        );
      });
      return [label, ...own.map((row) => percent(numberOf(row, metric))), tens(mean(spent))];
    }),
  ]);
  const command = "./tango eval --run runs/default-N --verifier --k 8 --problems 512 --json";
  return `${table}\n\n${sourceBlock(command, readSources("chains/runs.jsonl"))}`;
}
