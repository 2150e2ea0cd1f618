/** What docs/kernels.md says of the launches of a decode step. */

import assert from "node:assert/strict";
import { launchTable } from "../../bench/machine_code/decode_launches.ts";

/** Cells of a table without what aligns them. */
const cells = (table: string) =>
  table.split("\n").filter((line) => /^\| (Qwen|gemma)/.test(line)).map((line) =>
    line.split("|").slice(1, -1).map((cell) => cell.trim())
  );

Deno.test("the launches of a decode step are those of docs/kernels.md", async () => {
  const page = Deno.readTextFileSync("docs/kernels.md");
  const [f32, f16] = [await launchTable("native", "f32"), await launchTable("dawn", "f16")].map(
    cells,
  );
  const rows = f32.map(([name, ...counts], i) => [
    name,
    ...counts.map((count, at) => `${count}, ${f16[i][at + 1]}`),
  ]);
  const stated = cells(page).filter(([name]) => rows.some((row) => row[0] === name));
  assert.deepEqual(stated.filter((row) => row.length === 4), rows);
});
