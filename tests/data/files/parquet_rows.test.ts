import assert from "node:assert/strict";
import { streamRows } from "../../../src/data/files/read_rows.ts";
import { placeText } from "../../../src/data/files/row.ts";
import { FIXTURES, messageOfFile, readRows } from "./data_folder.ts";

const TYPES = [
  {
    integer: 1,
    decimal: 0.5,
    flag: true,
    day: "2024-02-29T00:00:00.000Z",
    moment: "2024-02-29T12:30:00.000Z",
    texts: ["a", null],
    grid: [[1, 2], [3]],
    inner: { key: "v", many: [{ n: 1 }] },
  },
  {
    integer: null,
    decimal: 1,
    flag: false,
    day: null,
    moment: null,
    texts: [],
    grid: [[]],
    inner: { key: null, many: [] },
  },
  {
    // 2 ** 53 + 1, which no number holds.
    integer: "9007199254740993",
    decimal: null,
    flag: null,
    day: "1970-01-01T00:00:00.000Z",
    moment: null,
    texts: null,
    grid: null,
    inner: null,
  },
];

for (const codec of ["none", "snappy", "gzip", "zstd"]) {
  Deno.test(`Parquet (${codec}): numbers, dates, lists and structs as plain values`, async () => {
    assert.deepEqual(await readRows(`${FIXTURES}/types.${codec}.parquet`), TYPES);
  });
}

Deno.test("Parquet: only the columns that are needed, of those there are", async () => {
  const rows = await readRows(`${FIXTURES}/types.zstd.parquet`, { columns: ["flag", "nope"] });
  assert.deepEqual(rows, TYPES.map(({ flag }) => ({ flag })));
});

Deno.test("Parquet: rows are counted over row groups, and the columns of the file are known", async () => {
  const found = [];
  for await (const { place } of streamRows(`${FIXTURES}/eurus-2-rl.parquet`, { columns: [] })) {
    found.push(placeText(place).replace(`${FIXTURES}/`, ""));
    assert.deepEqual(place.columns, [
      "data_source",
      "prompt",
      "ability",
      "reward_model",
      "extra_info",
    ]);
  }
  assert.deepEqual(found, [1, 2, 3].map((row) => `eurus-2-rl.parquet, row ${row}`));
});

Deno.test("Parquet: a damaged or cut file is one message with the reason", async () => {
  const whole = await Deno.readFile(`${FIXTURES}/types.gzip.parquet`);
  const damaged = whole.slice();
  damaged.fill(0xff, 4, 400);
  const expected =
    /^a\.parquet: cannot be read as Parquet: .+\. The file may be cut short or damaged/;
  for (const bytes of [damaged, whole.slice(0, -10), whole.slice(0, 6), new Uint8Array()]) {
    assert.match(await messageOfFile("a.parquet", bytes, readRows), expected);
  }
});
