import { alignedTable } from "../../base/table.ts";
import { type BenchmarkGroup, benchmarkGroups, type Suite } from "../config/suite_schema.ts";
import type { Share } from "./grade_answers.ts";
import { type BenchmarkResult, type GroupAverage, groupAverage, isWhole } from "./results.ts";

/** What was measured of whom. */
export interface BenchmarkFacts {
  readonly suite: Suite;
  /** Paths; null where none was measured. */
  readonly model: string | null;
  readonly verifier: string | null;
  /** How k answers to each problem were sampled besides the greedy one; null: none were. */
  readonly sampling: {
    readonly k: number;
    readonly temperature: number;
    readonly seed: number;
  } | null;
  readonly results: readonly BenchmarkResult[];
  /** Answers whose comparison took too long. */
  readonly timeouts: number;
}

const NONE = "–";
const percent = (value: number) => (100 * value).toFixed(1);
/** Null where nothing was there to be measured. */
const shareText = (share: Share | null) =>
  share === null ? NONE : `${percent(share.value)} ± ${percent(share.error)}`;

/** The tables of a suite for people, in Markdown, with the published figures beside what was measured, and what to know of it. */
export function resultsTable(facts: BenchmarkFacts): string {
  const { model, verifier, sampling, results } = facts;
  const sampled = sampling === null
    ? ""
    : `, and the mean of ${sampling.k} answers sampled at temperature ${sampling.temperature}`;
  const blocks: string[] = [];
  if (results.some(({ group }) => group !== "process")) {
    const groups = ["mathematics", "out-of-domain"] as const;
    const head = ["problems", "greedy", ...(sampling === null ? [] : [`mean@${sampling.k}`])];
    blocks.push(
      `${model} solves, in per cent: the greedy answer${sampled}`,
      tableOf(facts, groups, ["benchmark", ...head]),
    );
  }
  if (results.some(({ group }) => group === "process")) {
    const head = ["solutions", "first error found", "right ones passed", "F1"];
    blocks.push(
      `${verifier} judges written solutions, in per cent, with one greedy critique each`,
      tableOf(facts, ["process"], ["benchmark", ...head]),
    );
  }
  return [...blocks, notes(facts).join("\n")].join("\n\n");
}

/** The rows of some groups, each with its average, and the published columns that say something of them. */
function tableOf(
  { suite, results }: BenchmarkFacts,
  groups: readonly BenchmarkGroup[],
  head: readonly string[],
): string {
  const shown = results.filter(({ group }) => groups.includes(group));
  const names = new Set([...groups, ...shown.map(({ name }) => name)]);
  const tables = suite.published.filter(({ figures }) =>
    Object.keys(figures).some((name) => names.has(name))
  );
  const columns = tables.flatMap(({ columns }) => columns);
  const published = (name: string) =>
    tables.flatMap(({ columns, figures }) =>
      columns.map((_, c) => figures[name]?.[c]?.toFixed(1) ?? NONE)
    );
  const rows = groups.flatMap((group) => {
    const own = shown.filter((one) => one.group === group);
    if (own.length === 0) return [];
    const average = groupAverage(suite, group, results);
    const rest = head.length - 1;
    return [
      ...own.map((one) => [
        one.name,
        ...cellsOf(one, rest),
        ...(isWhole(one) ? published(one.name) : columns.map(() => NONE)),
      ]),
      average === null
        ? [`${group}, average`, ...Array(rest + columns.length).fill(NONE)]
        : [`${group}, average`, ...averageCells(average, group, rest), ...published(group)],
    ];
  });
  return alignedTable([[...head, ...columns], ...rows]);
}

/** @param count of the cells */
function cellsOf(result: BenchmarkResult, count: number): string[] {
  const problems = isWhole(result)
    ? String(result.problems)
    : `${result.problems} of ${result.expected ?? result.all}`;
  if (result.group === "process") {
    const { f1, erroneous, correct } = result.critiques;
    return [problems, ...[erroneous, correct, f1].map(shareText)];
  }
  const { greedy, sampled } = result;
  const shares = [greedy, sampled].slice(0, count - 1);
  return [problems, ...shares.map((one) => shareText(one && one.accuracy))];
}

function averageCells(
  { greedy, sampled }: GroupAverage,
  group: BenchmarkGroup,
  count: number,
): string[] {
  if (group === "process") return [...Array(count - 1).fill(""), shareText(greedy)];
  const shares = [greedy, sampled].slice(0, count - 1);
  return ["", ...shares.map(shareText)];
}

/** What the numbers do not say by themselves, a line for each kind of remark. */
function notes({ suite, results, timeouts }: BenchmarkFacts): string[] {
  const list = (what: string, remark: (result: BenchmarkResult) => string | null) => {
    const remarks = results.flatMap((result) => {
      const found = remark(result);
      return found === null ? [] : [`${result.name} ${found}`.trim()];
    });
    return remarks.length === 0 ? [] : [`${what}: ${remarks.join(", ")}.`];
  };
  const share = (value: number | undefined) => value ? `${percent(value)} %` : null;
  const groups = benchmarkGroups.filter((group) =>
    results.some((one) => one.group === group) && groupAverage(suite, group, results) === null
  );
  return [
    "± is a standard error over the problems, with two right and two wrong ones more; 1.96 of it are half of a 95 % interval.",
    ...list(
      "Parts, the first problems alone, not to be compared with published figures",
      ({ problems, all }) => problems < all ? "" : null,
    ),
    ...list(
      "Not the number of problems that the suite says, not to be compared with published figures",
      ({ all, expected }) =>
        expected === null || all === expected
          ? null
          : `(${all} in the files, ${expected} expected)`,
    ),
    ...groups.map((group) => {
      const { length } = suite.benchmarks.filter((one) => one.group === group);
      return `No average of ${group}: it takes all ${length} of its benchmarks, each whole.`;
    }),
    ...list(
      "Prompts that leave no room for an answer in the model's positions, counted as wrong",
      ({ tooLong }) => tooLong > 0 ? String(tooLong) : null,
    ),
    ...list(
      "Greedy answers that were cut off",
      (one) => one.group === "process" ? null : share(one.greedy.cutOff),
    ),
    ...list(
      "Sampled answers that were cut off",
      (one) => one.group === "process" ? null : share(one.sampled?.cutOff),
    ),
    ...list(
      "Critiques that were cut off",
      (one) => one.group === "process" ? share(one.critiques.cutOff) : null,
    ),
    ...list(
      "Critiques that do not judge every step, counted as wrong",
      (one) => one.group === "process" ? share(one.critiques.unjudged) : null,
    ),
    ...(timeouts > 0
      ? [`Answers whose comparison took too long, counted as wrong: ${timeouts}.`]
      : []),
    ...list(
      "Rows that are none of its problems",
      ({ leftOut }) =>
        leftOut.length === 0
          ? null
          : leftOut.map(({ count, reason, first }) => `${count} (${reason}, first ${first})`).join(
            " and ",
          ),
    ),
  ];
}
