import assert from "node:assert/strict";
import {
  formatCount,
  formatNumber,
  formatShare,
  formatSize,
  shortDuration,
} from "../../../src/server/page/format.ts";

function table<Value>(format: (value: Value) => string, rows: readonly [Value, string][]): void {
  for (const [value, text] of rows) assert.equal(format(value), text, String(value));
}

Deno.test("page's numbers: four digits, whatever their size", () => {
  table(formatNumber, [
    [0, "0"],
    [0.273437512, "0.2734"],
    [-0.0012345, "-0.001234"],
    [11944.2243, "11944"],
    [1234.5678, "1235"],
    [100, "100"],
    [0.00004, "4.0e-5"],
    [2500000, "2.5e6"],
    [NaN, "–"],
    [null, "–"],
  ]);
});

Deno.test("page's times: the two largest units", () => {
  table(shortDuration, [
    [0.4, "0 s"],
    [59.4, "59 s"],
    [60, "1 min"],
    [200, "3 min 20 s"],
    [3600, "1 h"],
    [7500, "2 h 5 min"],
    [273600, "3 d 4 h"],
    [null, "–"],
  ]);
});

Deno.test("page's sizes and shares", () => {
  table(formatSize, [[0, "0 B"], [999, "999 B"], [999.6, "1.0 kB"], [398e6, "398 MB"], [
    1.25e10,
    "13 GB",
  ], [undefined, "–"]]);
  table(formatShare, [[0.354, "35.4 %"], [1, "100.0 %"], [null, "–"]]);
});

Deno.test("page's counts: three digits and a word for the rest", () => {
  table(formatCount, [
    [0, "0"],
    [999, "999"],
    [152_320, "152 K"],
    [134_515_008, "135 M"],
    [7_615_616_512, "7.62 B"],
  ]);
});
