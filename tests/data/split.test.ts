import assert from "node:assert/strict";
import { splitOf } from "../../src/data/split.ts";

Deno.test("split: a text's part stays what it was: trained models have seen the others", () => {
  // By FNV-1a and MurmurHash3's finaliser written in Python; the last four lie beside the two bounds.
  const parts = {
    "": "train",
    "q0": "test",
    "q2": "validation",
    "q3": "train",
    "a": "validation",
    "7+5-3": "train",
    "½ é 水": "validation",
    "q9100": "test",
    "q13970": "validation",
    "q10927": "validation",
    "q4178": "train",
  };
  for (const [text, part] of Object.entries(parts)) assert.equal(splitOf(text), part, text);
});

Deno.test("split: eight tenths to train on, a tenth for each of the others", () => {
  const counts = { train: 0, validation: 0, test: 0 };
  const total = 20_000;
  for (let i = 0; i < total; i++) counts[splitOf(`What is ${i} + ${i * i}?`)]++;
  // Five standard deviations of a share of a tenth in 20,000: 0.011.
  assert.ok(Math.abs(counts.test / total - 0.1) < 0.011, `${counts.test}`);
  assert.ok(Math.abs(counts.validation / total - 0.1) < 0.011, `${counts.validation}`);
});
