import assert from "node:assert/strict";
import { join } from "node:path";
import { type DataFiles, loadRecords } from "../../../src/data/files/load_records.ts";
import { reportText } from "../../../src/data/files/load_report.ts";
import { makeRecord } from "../../../src/data/files/record.ts";
import type { RecordFilters } from "../../../src/data/files/record_filter.ts";
import { FIXTURES, messageOf, withFiles } from "./data_folder.ts";

/** Loads rows written as JSON Lines; the columns are guessed unless given. */
function load(
  rows: readonly unknown[],
  filters: RecordFilters = {},
  entry: Partial<DataFiles> = {},
) {
  const text = rows.map((row) => JSON.stringify(row)).join("\n");
  return withFiles({ "a.jsonl": text }, async (folder) => {
    const loaded = await loadRecords([{ path: `${folder}/a.jsonl`, ...entry }], filters);
    const { dropped } = loaded.report.entries[0];
    const places = dropped.map(({ reason, count, first }) => [
      reason,
      count,
      first.replace(`${folder}/`, ""),
    ]);
    return {
      ...loaded,
      questions: loaded.records.map(({ question }) => question),
      dropped: places,
    };
  });
}

const question = (text: string, answer: unknown = "1") => ({ question: text, answer });

Deno.test("entries follow each other; a source may be given; a limit takes the first", async () => {
  const entries = [
    { path: `${FIXTURES}/gsm8k.jsonl`, format: "gsm8k", limit: 2, source: "train" },
    { path: `${FIXTURES}/math`, format: "math" },
  ];
  const { records, report } = await loadRecords(entries);
  assert.deepEqual(records.map(({ source }) => source), ["train", "train", "Algebra", "geometry"]);
  assert.equal(report.records, 4);
  assert.deepEqual(report.entries.map(({ rows, records }) => [rows, records]), [[2, 2], [2, 2]]);
  assert.deepEqual(report.entries[0].sources, { train: 2 });
});

Deno.test("a limit counts records, not rows", async () => {
  const rows = [question("a"), question("a"), question("b"), question("c")];
  const { questions, report } = await load(rows, {}, { limit: 2 });
  assert.deepEqual(questions, ["a", "b"]);
  assert.equal(report.entries[0].rows, 3);
});

Deno.test("records are passed over first, and what repeats them with them", async () => {
  const rows = ["a", "a", "b", "a", "c", "b", "d", "e"].map((text) => question(text));
  const { questions, dropped } = await load(rows, {}, { skip: 2, limit: 2 });
  assert.deepEqual(questions, ["c", "d"]);
  assert.deepEqual(dropped[0], ["among the first 2, which are passed over", 2, "a.jsonl:1"]);
  const first = await load(rows, {}, { limit: 2 });
  assert.deepEqual(first.questions, ["a", "b"]);
});

Deno.test("bounds on the question and what a use needs", async () => {
  const rows = [question("ab"), question("a"), question("abc"), question("xy", null)];
  const bounds = { minimumQuestionCharacters: 2, maximumQuestionCharacters: 2 };
  const { questions, dropped } = await load(rows, { ...bounds, requireAnswer: true });
  assert.deepEqual(questions, ["ab"]);
  assert.deepEqual(dropped, [
    ["question shorter than 2 characters", 1, "a.jsonl:2"],
    ["question longer than 2 characters", 1, "a.jsonl:3"],
    ["no reference answer", 1, "a.jsonl:4"],
  ]);
  const solved = [{ question: "a", solution: "s" }, { question: "b", solution: null }];
  assert.deepEqual((await load(solved, { requireSolution: true })).questions, ["a"]);
  const judged = await loadRecords(
    [{ path: `${FIXTURES}/processbench.json`, format: "processbench" }],
    { requireJudged: true },
  );
  assert.equal(judged.records.length, 3);
});

Deno.test("duplicates are dropped but for white space; other answers are counted apart", async () => {
  const rows = [
    question("a b"),
    question(" a\n b "),
    question("a b", "2"),
    question("A b"),
    question("a b"),
  ];
  const { questions, dropped } = await load(rows);
  assert.deepEqual(questions, ["a b", "A b"]);
  assert.deepEqual(dropped, [
    ["duplicate", 2, "a.jsonl:2"],
    ["duplicate with another answer", 1, "a.jsonl:3"],
  ]);
  assert.equal((await load(rows, { keepDuplicates: true })).records.length, 5);
});

Deno.test("duplicates are found between entries too", async () => {
  const entry = { path: `${FIXTURES}/gsm8k.jsonl`, format: "gsm8k" };
  const { records, report } = await loadRecords([entry, entry]);
  assert.equal(records.length, 3);
  assert.deepEqual(report.entries[1].dropped.map(({ reason, count }) => [reason, count]), [
    ["duplicate", 3],
  ]);
});

Deno.test("questions of an excluded set are kept out", async () => {
  const exclude = [makeRecord({ question: "held  out", source: "test" })];
  const { questions, dropped } = await load([question("held out"), question("b")], { exclude });
  assert.deepEqual(questions, ["b"]);
  assert.deepEqual(dropped, [["question of the excluded set", 1, "a.jsonl:1"]]);
});

Deno.test("guessed columns are reported", async () => {
  const { report } = await load([{ Problem: "a", answer: 1 }]);
  assert.equal(report.entries[0].guessed, 'columns: question = "Problem", answer = "answer"');
  assert.match(
    reportText(report),
    /a\.jsonl: 1 of 1 rows are used \(columns: question = "Problem", answer = "answer"\)$/,
  );
});

Deno.test("columns are read by name, from Parquet only those needed", async () => {
  const path = `${FIXTURES}/eurus-2-rl.parquet`;
  const columns = { question: "prompt", answer: "reward_model.ground_truth", source: "ability" };
  const { records } = await loadRecords([{ path, columns }]);
  assert.deepEqual(records.map(({ source }) => source), ["math", "code", "math"]);
  assert.equal(records[0].answer, "3");
  assert.match(
    await messageOf(() => loadRecords([{ path, columns: { question: "Problem" } }])),
    /eurus-2-rl\.parquet, row 1: there is no column "Problem"; found data_source, prompt, ability,/,
  );
});

Deno.test("when nothing is left, the counts say why", async () => {
  const filters = { minimumQuestionCharacters: 9 };
  const message = await messageOf(() => load([question("a"), question("b")], filters));
  assert.match(
    message,
    /^data: no record is left to use\.\n.*a\.jsonl: 0 of 2 rows are used \(columns: .*\)\n {2}2 dropped: question shorter than 9 characters \(first: .*a\.jsonl:1\)\nCheck the paths/,
  );
});

Deno.test("entries that make no sense are refused before a file is read", async () => {
  const message = (entry: Partial<DataFiles>, filters?: RecordFilters) =>
    messageOf(() => loadRecords([{ path: "none.jsonl", ...entry }], filters));
  assert.equal(
    await message({ format: "math", columns: { question: "q" } }),
    "none.jsonl: found format and columns, expected only one of them.",
  );
  assert.match(await message({ format: "mat" }), /^format: found "mat", expected one of/);
  assert.match(
    await message({ limit: 0 }),
    /^none\.jsonl: limit: found 0, expected a whole number/,
  );
  assert.match(
    await message({ skip: -1 }),
    /^none\.jsonl: skip: found -1, expected a whole number from 0 up\.$/,
  );
  const comparison = "number" as "math";
  assert.match(
    await message({ columns: { question: "q", comparison } }),
    /^none\.jsonl: comparison: found "number", expected one of math, text, literal\.$/,
  );
  assert.match(
    await message({}, { minimumQuestionCharacters: 5, maximumQuestionCharacters: 4 }),
    /^minimum_question_characters, maximum_question_characters: found 5 and 4, expected whole numbers/,
  );
  assert.match(await messageOf(() => loadRecords([])), /^data: found no files/);
});

Deno.test("the format is told by a file's or a folder's name, when its rows are in it", async () => {
  const guessed = async (path: string) => {
    const { report } = await loadRecords([{ path: join(FIXTURES, path) }]);
    return report.entries[0].guessed;
  };
  assert.equal(await guessed("gsm8k.jsonl"), "format: gsm8k");
  assert.equal(await guessed("math500.jsonl"), "format: math500");
  assert.equal(await guessed("processbench.json"), "format: processbench");
  const folder = Deno.makeTempDirSync();
  try {
    // A part of ProcessBench is called gsm8k.json and has none of GSM8K's columns.
    const inner = join(folder, "ProcessBench");
    Deno.mkdirSync(inner);
    Deno.copyFileSync(join(FIXTURES, "processbench.json"), join(inner, "gsm8k.json"));
    const { report } = await loadRecords([{ path: join(inner, "gsm8k.json") }]);
    assert.equal(report.entries[0].guessed, "format: processbench");
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
});
