import assert from "node:assert/strict";
import {
  RESULTS_PAGE,
  resultsPage,
  withTables,
} from "../../../src/cli/dev/results/results_page.ts";
import { sourceBlock } from "../../../src/cli/dev/results/result_words.ts";

Deno.test("docs/results.md has the tables that `./tango docs` makes of bench/results", () => {
  assert.equal(Deno.readTextFileSync(RESULTS_PAGE), resultsPage());
});

Deno.test("result tables: what lies between the marks is made anew, and nothing else", () => {
  const page = "a\n\n<!-- table: one -->\n\nold\n\n<!-- end of table -->\n\nb\n";
  assert.equal(
    withTables(page, { one: () => "| new |" }),
    "a\n\n<!-- table: one -->\n\n| new |\n\n<!-- end of table -->\n\nb\n",
  );
  assert.throws(() => withTables(page, {}), /a table that nobody writes: one/);
  assert.throws(
    () => withTables(page, { one: () => "", other: () => "" }),
    /no place for: other/,
  );
});

Deno.test("result tables: where runs come from is said as far as it is known", () => {
  const run = (chain: string | null, program: string | null = null) => ({
    ...{ seed: 0, device: "llvmpipe", chain, program },
  });
  assert.equal(
    sourceBlock("./tango x", [run("a".repeat(64), "b".repeat(40)), run("c".repeat(64)), run(null)]),
    [
      "```text",
      "./tango x",
      "commit: bbbbbbbbbbbb",
      "device: llvmpipe",
      "chains of records end with: aaaaaaaaaaaa, cccccccccccc",
      "1 of 3 runs were made before there were chains of records",
      "```",
    ].join("\n"),
  );
});
