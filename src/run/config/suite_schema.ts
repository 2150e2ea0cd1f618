/** A suite of benchmarks: where their problems come from, and what was published about them. */

import { z } from "zod";
import { formats } from "../../data/files/formats.ts";
import { REPOSITORY_ID } from "../../hub/repository.ts";
import { oneOf, realNumber, section, text, wholeNumber } from "./schema_fields.ts";

/** What benchmarks are averaged over, in the order of the table. */
export const benchmarkGroups = ["mathematics", "out-of-domain", "process"] as const;
export type BenchmarkGroup = typeof benchmarkGroups[number];

const [firstFormat, ...otherFormats] = formats.map(({ name }) => name);
/** The one format whose solutions are judged. */
const JUDGED_FORMAT = "processbench";

const NAME = "a name of letters, digits, dots and dashes, which files are called by";
const REPOSITORY = "a repository of the Hub, owner/name";

const benchmarkSchema = section({
  name: text(NAME).regex(/^[A-Za-z0-9][A-Za-z0-9.-]*$/, { error: NAME }).describe(
    "What it is called in tables, files and by `--only`.",
  ),
  group: oneOf(benchmarkGroups).describe(
    "What it is averaged with. A generator solves the first two kinds, a verifier judges the solutions of the third.",
  ),
  repository: text(REPOSITORY).regex(REPOSITORY_ID, { error: REPOSITORY }).describe(
    "The data set on the Hub; it is fetched into a folder of that name.",
  ),
  revision: text("a branch, tag or commit").default("main").describe("Branch, tag or commit."),
  files: z.array(text("a file's name, or a pattern such as test-*.parquet"), {
    error: "a list of files",
  }).min(1, "at least one file").describe(
    "The files with its problems; a pattern without `/` is compared with a file's name in any folder.",
  ),
  format: oneOf([firstFormat, ...otherFormats]).describe("How its rows are read."),
  problems: wholeNumber({ minimum: 1 }).nullable().default(null).describe(
    "Problems that it has; where the files have another number, no average is taken. null: as many as the files have.",
  ),
});

/** A benchmark of a suite. */
export type Benchmark = z.output<typeof benchmarkSchema>;

/** Schema of a suite's file. */
export const suiteSchema = section({
  folder: text("the path of a folder").describe(
    "Where the data sets are fetched to and read from.",
  ),
  benchmarks: z.array(benchmarkSchema, { error: "a list of benchmarks" }).min(
    1,
    "at least one benchmark",
  ).describe("In the order of the table."),
  published: z.array(
    section({
      columns: z.array(text("a heading"), { error: "a list of headings" }).min(
        1,
        "at least one heading",
      ).describe("Headings."),
      figures: z.record(
        z.string(),
        z.array(realNumber({ minimum: 0, maximum: 100 }).nullable(), {
          error: "a list of numbers in per cent, or null",
        }),
        { error: "a list of numbers by the name of a benchmark or group" },
      ).describe(
        "Per cent in each column, or null, by the name of a benchmark; by that of a group, its averages.",
      ),
    }),
    { error: "a list of tables" },
  ).default([]).describe("Tables of published figures, which stand beside what is measured."),
}).check(({ value: { benchmarks, published }, issues }) => {
  const wrong = (path: PropertyKey[], input: unknown, message: string) =>
    issues.push({ code: "custom", path, input, message });
  const names = benchmarks.map(({ name }) => name);
  const groups: readonly string[] = benchmarkGroups;
  benchmarks.forEach(({ name, group, format }, b) => {
    if (names.indexOf(name) < b || groups.includes(name)) {
      wrong(["benchmarks", b, "name"], name, "a name that no other benchmark or group has");
    }
    if ((format === JUDGED_FORMAT) !== (group === "process")) {
      const expected = group === "process"
        ? `${JUDGED_FORMAT}, because the group process has solutions to be judged`
        : "one whose problems are solved, because only the group process has solutions to be judged";
      wrong(["benchmarks", b, "format"], format, expected);
    }
  });
  published.forEach(({ columns, figures }, t) => {
    for (const [name, row] of Object.entries(figures)) {
      const path = ["published", t, "figures", name];
      if (!names.includes(name) && !groups.includes(name)) {
        wrong(path, row, `left out, because no benchmark or group is called ${name}`);
      } else if (row.length !== columns.length) {
        wrong(path, row, `a list of ${columns.length}, one figure or null for each column`);
      }
    }
  });
});

/** A suite of benchmarks. */
export type Suite = z.output<typeof suiteSchema>;
