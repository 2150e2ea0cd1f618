/** The shipped suite is the paper's, and a suite that makes no sense is refused. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { stringify } from "yaml";
import { mean } from "../../../src/base/statistics.ts";
import { folderOf } from "../../../src/run/benchmarks/benchmark_files.ts";
import { chooseBenchmarks, DEFAULT_SUITE, loadSuite } from "../../../src/run/benchmarks/suite.ts";
import { wantedBenchmarks } from "../../../src/run/benchmarks/wanted.ts";
import { loadTangoConfig } from "../../../src/run/config/load_config.ts";
import { benchmarkGroups } from "../../../src/run/config/suite_schema.ts";
import { messageOf } from "../../data/files/data_folder.ts";

const suite = loadSuite(DEFAULT_SUITE);

Deno.test("suite: nine benchmarks and four parts of ProcessBench, in the form of the stand-ins", () => {
  const counts = benchmarkGroups.map((group) => chooseBenchmarks(suite, [group]).length);
  assert.deepEqual(counts, [5, 4, 4]);
  const forms = ({ benchmarks }: typeof suite) =>
    benchmarks.map(({ name, group, format }) => [name, group, format]);
  assert.deepEqual(forms(loadSuite("tests/run/benchmarks/stand_ins/suite.yaml")), forms(suite));
});

Deno.test("suite: published averages are those of the published rows", () => {
  for (const { columns, figures } of suite.published) {
    for (const group of ["mathematics", "process"].filter((name) => name in figures)) {
      const rows = chooseBenchmarks(suite, [group]).map(({ name }) => figures[name]);
      columns.forEach((column, c) => {
        const average = mean(rows.map((row) => row[c] ?? NaN));
        // Both are rounded to a tenth.
        assert.ok(Math.abs(average - (figures[group][c] ?? NaN)) < 0.0501, `${group}, ${column}`);
      });
    }
  }
});

Deno.test("suite: the published run's configuration evaluates what is fetched", () => {
  const heldOut = loadTangoConfig("configs/tango-qwen2.5-7b.yaml").data?.held_out ?? [];
  const { solved } = wantedBenchmarks(suite, { model: "m" });
  assert.deepEqual(
    heldOut.map(({ path, format }) => [path, format]),
    solved.map((one) => [folderOf(suite, one), one.format]),
  );
});

Deno.test("suite: what makes no sense is one line each, with its key", async () => {
  const folder = Deno.makeTempDirSync();
  const file = join(folder, "suite.yaml");
  const benchmark = {
    ...{ name: "one", group: "mathematics", repository: "own/one", files: ["*.jsonl"] },
    format: "math500",
  };
  const messageFor = (changes: object, published: readonly object[] = []) => {
    const benchmarks = [benchmark, { ...benchmark, name: "two", ...changes }];
    Deno.writeTextFileSync(file, stringify({ folder, benchmarks, published }));
    return messageOf(() => loadSuite(file));
  };
  const figures = (figures: object) => messageFor({}, [{ columns: ["a", "b"], figures }]);
  try {
    for (
      const [message, expected] of [
        [
          messageFor({ name: "one" }),
          /benchmarks\[1\]\.name is "one"; expected a name that no other/,
        ],
        [
          messageFor({ name: "process" }),
          /benchmarks\[1\]\.name is "process"; expected a name that/,
        ],
        [
          messageFor({ name: "a/b" }),
          /benchmarks\[1\]\.name is "a\/b"; expected a name of letters/,
        ],
        [messageFor({ repository: "../x" }), /benchmarks\[1\]\.repository .*owner\/name/],
        [messageFor({ format: "gsm9k" }), /benchmarks\[1\]\.format is "gsm9k"; expected one of/],
        [
          messageFor({ format: "processbench" }),
          /benchmarks\[1\]\.format .*only the group process/,
        ],
        [messageFor({ group: "process" }), /benchmarks\[1\]\.format .*expected processbench/],
        [messageFor({ files: [] }), /benchmarks\[1\]\.files .*at least one file/],
        [
          figures({ three: [1, 2] }),
          /published\[0\]\.figures\.three .*no benchmark or group is called three/,
        ],
        [
          figures({ one: [1] }),
          /published\[0\]\.figures\.one .*a list of 2, one figure or null for/,
        ],
        [figures({ one: [1, 101] }), /published\[0\]\.figures\.one\[1\] is 101; expected a number/],
      ] as const
    ) assert.match(await message, expected);
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
});
