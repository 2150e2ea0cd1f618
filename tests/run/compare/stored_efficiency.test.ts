import assert from "node:assert/strict";
import { comparisonFiles } from "../../../src/run/compare/comparison_folder.ts";
import { readEfficiency } from "../../../src/run/compare/stored_efficiency.ts";

Deno.test("efficiency stored: as compare.json has it; null before, and of earlier versions", () => {
  const folder = Deno.makeTempDirSync();
  try {
    const { results } = comparisonFiles(folder);
    const write = (text: string) => Deno.writeTextFileSync(results, text);
    assert.equal(readEfficiency(folder), null);
    write(JSON.stringify({ seeds: [0], baseline: "grpo", jobs: 1, rows: [] }));
    assert.equal(readEfficiency(folder), null);
    const shares = [{ steps: 0.5, seconds: 0.6, tokens: null }];
    const stored = { baseline: "grpo", jobs: 2, efficiency: [{ arm: "tango", pairs: 2, shares }] };
    write(JSON.stringify({ seeds: [0, 1], ...stored, rows: [] }));
    assert.deepEqual(readEfficiency(folder), stored);
    write("{");
    assert.throws(() => readEfficiency(folder), /compare\.json is damaged/);
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
});
