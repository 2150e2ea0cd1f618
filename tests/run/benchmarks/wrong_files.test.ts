/** A benchmark's file that is not what it should be: one message with the file, the row and the column. */

import assert from "node:assert/strict";
import { loadBenchmark } from "../../../src/run/benchmarks/benchmark_files.ts";
import { chooseBenchmarks, loadSuite } from "../../../src/run/benchmarks/suite.ts";
import { messageOf, withFiles } from "../../data/files/data_folder.ts";

const suite = loadSuite("tests/run/benchmarks/stand_ins/suite.yaml");

/** The second row of each stand-in with something wrong in it, and what is said of that. */
const WRONG: Readonly<Record<string, readonly [row: object, message: RegExp]>> = {
  MATH500: [
    { problem: "p", solution: "s", answer: { value: 1 } },
    /^rows\.jsonl:2, column "answer": found an object with value, expected text\.$/,
  ],
  AIME24: [
    { ID: "2099-I-2", Problem: ["p"], Solution: "s", Answer: 1 },
    /^rows\.jsonl:2, column "Problem": found a list of 1, expected text\.$/,
  ],
  AIME25: [
    { problem: "p", answer: { value: 1 }, solution: "s" },
    /^rows\.jsonl:2, column "answer": found an object with value, expected text\.$/,
  ],
  AMC23: [
    { question: "p", answer: { value: 1 } },
    /^rows\.jsonl:2, column "answer": found an object with value, expected text\.$/,
  ],
  OlympiadBench: [
    { question: "q", final_answer: { value: 1 }, solution: [] },
    /^rows\.jsonl:2, column "final_answer": found an object with value, expected text\.$/,
  ],
  BoardgameQA: [
    { example: "e", label: "entailed" },
    /^rows\.jsonl:2, column "label": found "entailed", expected one of proved, disproved, unknown\.$/,
  ],
  CRUXEval: [
    { code: "def f(): pass", input: ["x"], output: "None" },
    /^rows\.jsonl:2, column "input": found a list of 1, expected text\.$/,
  ],
  StrategyQA: [
    { question: "q", answer: "perhaps", facts: [] },
    /^rows\.jsonl:2, column "answer": found "perhaps", expected true or false\.$/,
  ],
  TableBench: [
    {
      qtype: "FactChecking",
      question: "q",
      answer: "a",
      table: { columns: ["a", "b"], data: [["1"]] },
    },
    /^rows\.jsonl:2, column "table", row 1: found 1 cells, expected 2 as in the header\.$/,
  ],
  "ProcessBench-math": [
    { id: "math-2", problem: "p", steps: ["one", "two"], label: 2 },
    /^rows\.jsonl:2, column "label": found 2 as the first wrong of 2 steps, expected -1 \(all are right\) to 1\.$/,
  ],
};

const QUESTIONS = ["problem", "Problem", "question", "example", "code"];

for (const [name, [row, message]] of Object.entries(WRONG)) {
  Deno.test(`benchmarks: a wrong file of ${name} is one message`, async () => {
    const [benchmark] = chooseBenchmarks(suite, [name]);
    const folder = `${suite.folder}/${benchmark.repository}`;
    const file = [...Deno.readDirSync(folder)].map(({ name }) => name).sort()
      .find((one) => name.startsWith("Process") ? one === "math.json" : true);
    const [first, second] = rowsOf(Deno.readTextFileSync(`${folder}/${file}`));
    const said = (file: string, content: string) =>
      withFiles({ [file]: content }, async (folder) => {
        const message = await messageOf(() => loadBenchmark(benchmark, [`${folder}/${file}`]));
        return message.replaceAll(`${folder}/`, "");
      });
    const lines = (...rows: readonly object[]) => rows.map((row) => JSON.stringify(row)).join("\n");
    assert.match(await said("rows.jsonl", lines(first, row)), message);

    const [question] = QUESTIONS.filter((column) => column in second);
    const { [question]: _, ...without } = second;
    const missing = await said("rows.jsonl", lines(first, without));
    assert.match(
      missing,
      new RegExp(`^rows\\.jsonl:2: there is no column .*"${question}".*; found `),
    );

    const cut = lines(first, second).slice(0, -3);
    assert.match(await said("rows.jsonl", cut), /^rows\.jsonl:2: not JSON: .*may be cut short\.$/);
    const list = JSON.stringify([first, second]).slice(0, -3);
    assert.match(
      await said("rows.json", list),
      /^rows\.json: not JSON: .*download or write it again\.$/,
    );
    assert.match(
      await said("rows.jsonl", ""),
      /^data: no record is left to use\.\nrows\.jsonl: 0 of 0 rows/,
    );
  });
}

/** The rows of a file: one on each line, or in a list. */
function rowsOf(text: string): Record<string, unknown>[] {
  return text.startsWith("[")
    ? JSON.parse(text)
    : text.trim().split("\n").map((line) => JSON.parse(line));
}
