import assert from "node:assert/strict";
import { findFormat, formats } from "../../../src/data/files/formats.ts";
import { loadRecords } from "../../../src/data/files/load_records.ts";
import { type DataRecord, makeRecord } from "../../../src/data/files/record.ts";
import { FIXTURES, messageOf, messageOfFile, withFiles } from "./data_folder.ts";

async function load(file: string, format: string) {
  const { records, report } = await loadRecords([{ path: `${FIXTURES}/${file}`, format }]);
  const dropped = report.entries[0].dropped.map(({ reason, count }) => ({ reason, count }));
  return { records, dropped };
}

/** The records that a format makes of JSON Lines. */
function recordsOf(rows: readonly unknown[], format: string): Promise<readonly DataRecord[]> {
  const text = rows.map((row) => JSON.stringify(row)).join("\n");
  return withFiles({ "a.jsonl": text }, async (folder) => {
    return (await loadRecords([{ path: `${folder}/a.jsonl`, format }])).records;
  });
}

function messageOfRow(row: unknown, format: string): Promise<string> {
  const read = (path: string) => loadRecords([{ path, format }]);
  return messageOfFile("a.jsonl", JSON.stringify(row), read);
}

Deno.test("eurus-2-rl: mathematics without the closing instruction; code is left out", async () => {
  const { records, dropped } = await load("eurus-2-rl.parquet", "eurus-2-rl");
  assert.deepEqual(records, [
    makeRecord({ question: "Find $x$ with $x + 1 = 4$.", answer: "3", source: "numina_olympiads" }),
    makeRecord({
      question: "What is $\\boxed{?}$ in $2 \\cdot ? = 5$?",
      answer: "\\frac{5}{2}",
      source: "numina_synthetic_math",
    }),
  ]);
  assert.deepEqual(dropped, [{ reason: "code problem", count: 1 }]);
  assert.match(
    await messageOfRow({ ability: "math", prompt: "text", reward_model: {} }, "eurus-2-rl"),
    /^a\.jsonl:1, column "prompt": found "text", expected a list of messages\.$/,
  );
});

Deno.test("eurus-2-sft: the question without its instruction, the response and its last box; code is left out", async () => {
  const row = (question: string, response: string, task = "Math") => ({
    conversations: [{ from: "human", value: question }, { from: "gpt", value: response }],
    task,
    dataset: "numina_math",
  });
  const instruction = "\n\nPresent the answer in LaTex format: \\boxed{Your answer}";
  const response = "First $1 + 2 = 3$.\n\nSo it is $\\boxed{3}$.";
  const records = await recordsOf([
    row(`What is $1 + 2$?${instruction}`, response),
    row("Sort a list.", "done", "Coding"),
    row("Without a box?", "Nobody knows."),
  ], "eurus-2-sft");
  assert.deepEqual(records, [
    makeRecord({
      question: "What is $1 + 2$?",
      answer: "3",
      solution: response,
      solutionSteps: ["First $1 + 2 = 3$.", "So it is $\\boxed{3}$."],
      source: "numina_math",
    }),
    makeRecord({
      question: "Without a box?",
      answer: null,
      solution: "Nobody knows.",
      solutionSteps: ["Nobody knows."],
      source: "numina_math",
    }),
  ]);
  assert.match(
    await messageOfRow({ task: "Math", conversations: "text" }, "eurus-2-sft"),
    /^a\.jsonl:1, column "conversations": found "text", expected a list of messages\.$/,
  );
});

Deno.test("gsm8k: a step per line, calculations removed, the result without its commas", async () => {
  const { records } = await load("gsm8k.jsonl", "gsm8k");
  assert.deepEqual(records.map(({ answer }) => answer), ["135", "1200", "-2"]);
  assert.deepEqual(records[0].solutionSteps, [
    "She has 15 boxes to sell.",
    "She takes 15 * 9 = $135.",
  ]);
  assert.equal(records[0].solution, records[0].solutionSteps?.join("\n"));
  assert.equal(records[0].comparison, "math");
  const fromParquet = await load("gsm8k.parquet", "gsm8k");
  assert.deepEqual(fromParquet.records.map(({ answer }) => answer), ["8", "10"]);
  const [hidden] = await recordsOf([{ question: "q", answer: "" }], "gsm8k");
  assert.deepEqual(hidden, makeRecord({ question: "q", source: "gsm8k" }));
});

Deno.test("math: the last box is the answer; the folder stands in for a missing type", async () => {
  const { records } = await load("math", "math");
  assert.deepEqual(records.map(({ answer }) => answer), ["2", "\\frac{1}{4}"]);
  assert.deepEqual(records.map(({ source }) => source), ["Algebra", "geometry"]);
  assert.deepEqual(records[0].solutionSteps, [
    "Subtracting $6$ gives $2x = 4.$",
    "Dividing by $2$ gives $x = 2.$",
    "So $x = \\boxed{2}.$",
  ]);
  assert.equal(records[1].solutionSteps?.length, 3);
});

Deno.test("math500: the answer from its column, by subject", async () => {
  const { records } = await load("math500.jsonl", "math500");
  assert.deepEqual(records.map(({ answer }) => answer), ["25", "\\{2\\}"]);
  assert.deepEqual(records.map(({ source }) => source), ["Prealgebra", "Number Theory"]);
});

Deno.test("aime and amc: any spelling of the columns; plain whole numbers", async () => {
  const { records } = await load("aime.csv", "aime");
  assert.deepEqual(records.map(({ answer }) => answer), ["73", "120"]);
  assert.deepEqual(records[0].solutionSteps?.length, 2);
  const boxed = await load("aime24.jsonl", "aime");
  assert.deepEqual(boxed.records.map(({ answer, solution }) => [answer, solution]), [[
    "204",
    null,
  ]]);
  const amc = await load("amc.jsonl", "amc");
  assert.deepEqual(amc.records.map(({ answer }) => answer), ["142", "3.5"]);
  const [zero] = await recordsOf([{ Question: "q", Answer: "000" }], "aime");
  assert.deepEqual(zero, makeRecord({ question: "q", answer: "0", source: "aime" }));
});

Deno.test("olympiadbench: open-ended problems without images", async () => {
  const { records, dropped } = await load("olympiadbench.json", "olympiadbench");
  assert.deepEqual(records.map(({ answer }) => answer), ["3, -3", "9.8"]);
  assert.equal(
    records[1].question,
    "A ball falls freely for one second.\n\nWhat speed does the ball reach?\n\n" +
      "Give the answer in m/s, without writing the unit.",
  );
  assert.equal(records[0].solution, "Both roots satisfy it. Hence $x = \\pm 3$.");
  assert.deepEqual(dropped, [
    { reason: "proof problem", count: 1 },
    { reason: "problem with an image", count: 1 },
  ]);
});

Deno.test("olympiadbench: the mathematics alone, as one copy has it", async () => {
  const [record] = await recordsOf(
    [{ question: "Find all $x$ with $x^2 = 2$.", answer: "$\\sqrt{2}$,$-\\sqrt{2}$" }],
    "olympiadbench",
  );
  assert.deepEqual(
    record,
    makeRecord({
      question: "Find all $x$ with $x^2 = 2$.",
      answer: "\\sqrt{2},-\\sqrt{2}",
      source: "olympiadbench",
    }),
  );
});

Deno.test("bgqa: one of three labels", async () => {
  const { records } = await load("bgqa.json", "bgqa");
  assert.deepEqual(records.map(({ answer }) => answer), ["True", "Uncertain"]);
  assert.match(records[0].question, /^A few players .* crane\?\n\nAnswer "True" if .*"Uncertain"/s);
  assert.equal(records[0].comparison, "text");
  assert.match(
    await messageOfRow({ example: "e", label: "maybe" }, "bgqa"),
    /^a\.jsonl:1, column "label": found "maybe", expected one of proved, disproved, unknown\.$/,
  );
});

Deno.test("cruxeval: what a function returns, character by character", async () => {
  const { records } = await load("cruxeval.jsonl", "cruxeval");
  assert.deepEqual(records.map(({ answer }) => answer), ["['ba', 'dc']", "'xxx'"]);
  assert.match(
    records[0].question,
    /```python\ndef f\(words\):\n .*\n```\n\nWhat does `f\(\['ab'/s,
  );
  assert.match(records[1].question, /`f\(\)`/);
  assert.equal(records[0].comparison, "literal");
});

Deno.test("strategyqa: yes or no", async () => {
  const { records } = await load("strategyqa.json", "strategyqa");
  assert.deepEqual(records.map(({ answer }) => answer), ["no", "yes"]);
  assert.deepEqual(records.map(({ question }) => question), [
    "Facts: Penguins live in the south. Polar bears live in the north.\n\n" +
    "Could a penguin meet a polar bear in the wild? Answer yes or no.",
    "Facts: Ice is lighter than water.\n\n" +
    "Does ice float in a glass of water? Answer yes or no.",
  ]);
  const [bare] = await recordsOf([{ question: "q?", answer: true, facts: [] }], "strategyqa");
  assert.equal(bare.question, "q? Answer yes or no.");
  assert.match(
    await messageOfRow({ question: "q", answer: "perhaps" }, "strategyqa"),
    /^a\.jsonl:1, column "answer": found "perhaps", expected true or false\.$/,
  );
});

Deno.test("tablebench: the table in the question; two kinds of question", async () => {
  const { records, dropped } = await load("tablebench.jsonl", "tablebench");
  assert.equal(
    records[0].question,
    "Answer the question about this table.\n\n| town | people |\n| --- | --- |\n| Ahlen | 1200 |\n" +
      "| Bree \\| Old | 800 |\n\nHow many people live in the two towns?",
  );
  assert.match(records[1].question, /\| Bree \| {2}\|\n/);
  assert.deepEqual(
    records.map(({ answer, comparison, source }) => [answer, comparison, source]),
    [["2000", "math", "NumericalReasoning"], ["Ahlen", "text", "FactChecking"]],
  );
  assert.deepEqual(dropped, [{ reason: "question for Visualization", count: 1 }]);
  const ragged = { columns: ["a", "b"], data: [["1"]] };
  assert.match(
    await messageOfRow({ table: ragged, question: "q", answer: "1" }, "tablebench"),
    /^a\.jsonl:1, column "table", row 1: found 1 cells, expected 2 as in the header\.$/,
  );
});

Deno.test("processbench: several solutions of one problem, all to be judged", async () => {
  const { records, dropped } = await load("processbench.json", "processbench");
  assert.deepEqual(records.map(({ judged }) => judged?.firstError), [1, -1, 0]);
  assert.deepEqual(records.map(({ source }) => source), ["gsm8k", "math", "math"]);
  assert.deepEqual(dropped, []);
});

Deno.test("every format names a missing column and the columns there are", async () => {
  for (const { name } of formats) {
    const message = await messageOfRow({ something: 1 }, name);
    assert.match(message, /^a\.jsonl:1: there is no column ".*"; found something\. /, name);
  }
});

Deno.test("every format reads the columns it lists and no others", async () => {
  // With only the listed columns a row must give what the whole row gives.
  const files: Record<string, string> = {
    gsm8k: "gsm8k.jsonl",
    math500: "math500.jsonl",
    amc: "amc.jsonl",
    cruxeval: "cruxeval.jsonl",
    tablebench: "tablebench.jsonl",
    processbench: "processbench.json",
  };
  for (const [name, file] of Object.entries(files)) {
    const { columns } = findFormat(name);
    const rows = (await Deno.readTextFile(`${FIXTURES}/${file}`)).split("\n").filter(Boolean)
      .map((line) => JSON.parse(line));
    const narrow = rows.map((row) =>
      Object.fromEntries(Object.entries(row).filter(([key]) => columns.includes(key)))
    );
    assert.deepEqual(await recordsOf(narrow, name), await recordsOf(rows, name), name);
  }
});

Deno.test("an unknown format is answered with those there are", async () => {
  assert.match(
    await messageOf(() => findFormat("gsm")),
    /^format: found "gsm", expected one of eurus-2-rl, eurus-2-sft, gsm8k, .*processbench\. For any other file/,
  );
});
