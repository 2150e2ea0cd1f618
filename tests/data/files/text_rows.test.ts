import assert from "node:assert/strict";
import fc from "fast-check";
import { streamRows } from "../../../src/data/files/read_rows.ts";
import { placeText, type Row } from "../../../src/data/files/row.ts";
import { gzip, messageOfFile, readRows, withFiles } from "./data_folder.ts";

function rowsOf(name: string, content: string | Uint8Array): Promise<Row[]> {
  return withFiles({ [name]: content }, (folder) => readRows(`${folder}/${name}`));
}

const ROWS = [{ a: 1, b: "x" }, { a: 2, b: "ü\n" }];
const LINES = ROWS.map((row) => JSON.stringify(row)).join("\n");

Deno.test("JSON Lines: blank lines, Windows line ends, a byte order mark and no last line end", async () => {
  for (const name of ["a.jsonl", "a.ndjson", "A.JSONL"]) {
    assert.deepEqual(await rowsOf(name, `\ufeff${LINES.replace("\n", "\r\n\r\n")}`), ROWS, name);
  }
  assert.deepEqual(await rowsOf("a.jsonl", `${LINES}\n`), ROWS);
  assert.deepEqual(await rowsOf("a.jsonl", ""), []);
});

Deno.test("JSON Lines: what is written is read, wherever the pieces of the file end", async () => {
  const row = fc.dictionary(fc.string(), fc.oneof(fc.string(), fc.integer(), fc.constant(null)));
  await fc.assert(
    fc.asyncProperty(fc.array(row), async (rows) => {
      const text = rows.map((row) => JSON.stringify(row)).join("\n");
      const plain = JSON.parse(JSON.stringify(rows));
      assert.deepEqual(await rowsOf("a.jsonl", text), plain);
    }),
    { numRuns: 30 },
  );
  const long = Array.from({ length: 60 }, (_, n) => ({ n, text: `${n}é`.repeat(20_000) }));
  assert.deepEqual(
    await rowsOf("a.jsonl", long.map((row) => JSON.stringify(row)).join("\n")),
    long,
  );
});

Deno.test("JSON Lines: errors name file and line", async () => {
  assert.match(
    await messageOfFile("a.jsonl", '{"a":1}\n\n{"a":', readRows),
    /^a\.jsonl:3: not JSON: .* Expected one JSON object per line/,
  );
  assert.match(
    await messageOfFile("a.jsonl", '{"a":1}\n[1, 2]\n', readRows),
    /^a\.jsonl:2: found a list of 2, expected a JSON object per line\.$/,
  );
  assert.match(
    await messageOfFile("a.jsonl", new Uint8Array([0x22, 0xe9, 0x22]), readRows),
    /^a\.jsonl: found bytes that are not UTF-8 text; expected UTF-8\. Convert the file/,
  );
  assert.match(
    await messageOfFile("a.jsonl", new Uint8Array([0xc3]), readRows),
    /not UTF-8/,
    "a character cut in two at the end",
  );
});

Deno.test("JSON: a list, a list under a key, one problem, or JSON Lines", async () => {
  assert.deepEqual(await rowsOf("a.json", JSON.stringify(ROWS, null, 2)), ROWS);
  assert.deepEqual(await rowsOf("a.json", JSON.stringify({ version: 1, data: ROWS })), ROWS);
  assert.deepEqual(await rowsOf("a.json", JSON.stringify({ anything: ROWS })), ROWS);
  assert.deepEqual(await rowsOf("a.json", LINES), ROWS);
  assert.deepEqual(await rowsOf("a.json", "[]"), []);
  const problem = { problem: "1+1", steps: ["a"], prompt: [{ role: "user", content: "1+1" }] };
  assert.deepEqual(await rowsOf("a.json", JSON.stringify(problem)), [problem]);
});

Deno.test("JSON: errors name the file and the row", async () => {
  assert.match(
    await messageOfFile("a.json", '[{"a":1},', readRows),
    /^a\.json: not JSON: .*cut short/,
  );
  assert.match(await messageOfFile("a.json", "", readRows), /^a\.json: not JSON/);
  assert.equal(
    await messageOfFile("a.json", '[{"a":1}, "b"]', readRows),
    'a.json, row 2: found "b", expected a list of objects.',
  );
  assert.equal(
    await messageOfFile("a.json", "3", readRows),
    "a.json: found 3, expected a list of objects or an object.",
  );
  assert.match(
    await messageOfFile("a.json", '{"train": [{"a":1}], "test": [{"a":2}]}', readRows),
    /^a\.json: found rows under train, test, expected one list of rows\./,
  );
  assert.match(await messageOfFile("a.json", '{"a":1}\n{"a":\n', readRows), /^a\.json:2: not JSON/);
});

Deno.test("CSV and TSV: quoted fields over several lines, all values text", async () => {
  const rows = [{ a: "1", b: 'x, "y"\nz' }, { a: "", b: "ü" }];
  assert.deepEqual(await rowsOf("a.csv", '\ufeffa,b\r\n1,"x, ""y""\nz"\r\n\r\n,ü\r\n'), rows);
  assert.deepEqual(await rowsOf("a.csv", "a,b\n"), []);
  const tabbed = [{ a: '5" pipe', b: "q\tr" }];
  assert.deepEqual(await rowsOf("a.tsv", 'a\tb\n5" pipe\t"q\tr"'), tabbed);
});

Deno.test("CSV: errors name file and line", async () => {
  const message = (content: string) => messageOfFile("a.csv", content, readRows);
  assert.match(
    await message('a,b\n1,"x\ny"\n\n2,3,4\n'),
    /^a\.csv:5: found 3 fields, expected as many as the first row names\. Put fields/,
  );
  assert.match(await message("a,b\n1\n"), /^a\.csv:2: found 1 fields/);
  assert.match(await message('a,b\n1,"x\n'), /^a\.csv:2: Quote Not Closed/);
  assert.match(await message('a\nx"y\n'), /^a\.csv:2: Invalid Opening Quote/);
  assert.match(await message(""), /^a\.csv: the file is empty; expected a first row that names/);
  assert.match(await message("a,a\n1,2\n"), /^a\.csv:1: found the column "a" twice/);
  assert.match(
    await messageOfFile("a.csv", new Uint8Array([97, 10, 0xe9, 10]), readRows),
    /^a\.csv: found bytes that are not UTF-8/,
  );
});

Deno.test("gzip: one member, several, and a file cut short", async () => {
  const compressed = await gzip(LINES);
  assert.deepEqual(await rowsOf("a.jsonl.gz", compressed), ROWS);
  const twice = new Uint8Array([...await gzip(`${LINES}\n`), ...compressed]);
  assert.deepEqual(await rowsOf("a.jsonl.gz", twice), [...ROWS, ...ROWS]);
  assert.deepEqual(await rowsOf("a.csv.gz", await gzip("a\n1\n")), [{ a: "1" }]);
  assert.deepEqual(await rowsOf("a.json.gz", await gzip(JSON.stringify(ROWS))), ROWS);
  const contents = { "a.jsonl.gz": LINES, "a.json.gz": "[]", "a.csv.gz": "a\n1\n" };
  for (const [name, content] of Object.entries(contents)) {
    assert.match(
      await messageOfFile(name, (await gzip(content)).slice(0, -5), readRows),
      /^a\.[a-z]+\.gz: not a whole gzip file: .*\. Download or compress it again\.$/,
    );
  }
  assert.match(await messageOfFile("a.jsonl.gz", LINES, readRows), /not a whole gzip file/);
});

Deno.test("places name lines and rows; reading may stop before the end", async () => {
  const places = (name: string, content: string) =>
    withFiles({ [name]: content }, async (folder) => {
      const found = [];
      for await (const { place } of streamRows(`${folder}/${name}`)) {
        found.push(placeText(place).replace(`${folder}/`, ""));
        if (found.length === 2) break;
      }
      return found;
    });
  assert.deepEqual(await places("a.jsonl", "\n{}\n{}\n{}"), ["a.jsonl:2", "a.jsonl:3"]);
  assert.deepEqual(await places("a.json", "[{}, {}, {}]"), ["a.json, row 1", "a.json, row 2"]);
  assert.deepEqual(await places("a.json", '{"a": 1}'), ["a.json"]);
  assert.deepEqual(await places("a.csv", 'a\n1\n"2\n"\n3'), ["a.csv:2", "a.csv:4"]);
});
