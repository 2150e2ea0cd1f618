import assert from "node:assert/strict";
import { type ColumnMapping, mapColumns } from "../../../src/data/files/column_mapping.ts";
import { columnsToImitate, guessColumns } from "../../../src/data/files/guess_columns.ts";
import { makeRecord } from "../../../src/data/files/record.ts";
import type { Place, Row } from "../../../src/data/files/row.ts";
import { messageOf } from "./data_folder.ts";

const PLACE: Place = { file: "f.jsonl", unit: "line", number: 4, defaultSource: "f" };
const map = (row: Row, columns: ColumnMapping) => mapColumns(row, columns, PLACE);

Deno.test("columns by name give question, answer, solution, steps, source and comparison", () => {
  const row = { Problem: "1+1?", Answer: 2, Work: "One. Two.", Topic: "sums", Steps: ["a", "b"] };
  const columns = { question: "Problem", answer: "Answer", solution: "Work", source: "Topic" };
  const record = makeRecord({
    question: "1+1?",
    answer: "2",
    solution: "One. Two.",
    solutionSteps: ["One.", "Two."],
    source: "sums",
  });
  assert.deepEqual(map(row, columns), record);
  assert.deepEqual(map(row, { ...columns, solutionSteps: "Steps", comparison: "text" }), {
    ...record,
    solutionSteps: ["a", "b"],
    comparison: "text",
  });
});

Deno.test("answers may be numbers, booleans, lists or the last box of the solution", () => {
  const answerOf = (answer: unknown) => {
    const record = map({ q: "?", answer }, { question: "q", answer: "answer" });
    return "answer" in record ? record.answer : undefined;
  };
  assert.equal(answerOf(142.0), "142");
  assert.equal(answerOf(true), "true");
  assert.equal(answerOf(" x "), "x");
  assert.equal(answerOf(["1", 2]), "1, 2");
  for (const nothing of [null, "", " ", []]) assert.equal(answerOf(nothing), null);
  const boxed = map({ q: "?", s: "So $\\boxed{\\frac{1}{2}}$." }, { question: "q", solution: "s" });
  assert.ok("answer" in boxed && boxed.answer === "\\frac{1}{2}");
});

Deno.test("paths reach into objects and lists; a column with dots in its name goes before", () => {
  const row = {
    reward_model: { ground_truth: "7" },
    prompt: [{ role: "system", content: "s" }, { role: "user", content: "u" }],
    "a.b": "dotted",
    a: { b: "nested" },
  };
  const columns = { question: "prompt.1.content", answer: "reward_model.ground_truth" };
  assert.deepEqual(map(row, columns), makeRecord({ question: "u", answer: "7", source: "f" }));
  assert.deepEqual(map(row, { question: "a.b" }), makeRecord({ question: "dotted", source: "f" }));
});

Deno.test("pairs of responses: as texts, as conversations, and as replies to a prompt of its own", async () => {
  const user = { role: "user", content: "?" };
  const said = (content: string) => ({ role: "assistant", content });
  const expected = makeRecord({
    question: "?",
    solution: "good.",
    solutionSteps: ["good."],
    rejected: "bad.",
    source: "f",
  });
  const rows: Row[] = [
    { prompt: "?", chosen: "good.", rejected: "bad." },
    { chosen: [user, said("good.")], rejected: [user, said("bad.")], score_chosen: 9 },
    { prompt: [user], chosen: [said("good.")], rejected: [said("bad.")] },
    { prompt: "?", messages: [user], chosen: [user, said("good.")], rejected: [said("bad.")] },
  ];
  for (const row of rows) assert.deepEqual(map(row, guessColumns(row, PLACE)), expected);
  const other = { role: "user", content: "another" };
  const apart = { chosen: [user, said("good.")], rejected: [other, said("bad.")] };
  assert.deepEqual(map(apart, guessColumns(apart, PLACE)), {
    leftOut: "responses to different questions",
  });
  const system = { role: "system", content: "be good" };
  const odd = { prompt: "?", chosen: [system], rejected: [said("bad.")] };
  assert.match(
    await messageOf(() => map(odd, guessColumns(odd, PLACE))),
    /"chosen": found messages of system, expected one of a user/,
  );
});

Deno.test("what is called chosen or rejected and is no pair of responses changes no guess", () => {
  const solutionOf = (row: Row) => guessColumns(row, PLACE).solution;
  const turns = [{ role: "user", content: "?" }, { role: "assistant", content: "yes" }];
  assert.equal(solutionOf({ prompt: "?", response: "r", chosen: "c", rejected: "d" }), "response");
  assert.equal(solutionOf({ messages: turns, chosen: true }), "messages");
  assert.equal(solutionOf({ messages: turns, chosen: "a", rejected: 0 }), "messages");
  assert.equal(solutionOf({ prompt: "?", chosen: "c" }), undefined);
  const plain = { question: "?", answer: "a", chosen: "c" };
  assert.equal(columnsToImitate(plain, PLACE).solution, "answer");
  for (const rejected of [[], 3, null, { a: 1 }]) {
    assert.equal(guessColumns({ prompt: "?", chosen: "c", rejected }, PLACE).rejected, undefined);
  }
});

Deno.test("a conversation gives its last user message and the reply to it", () => {
  const columns = { question: "messages", solution: "messages" };
  const turns = [
    { role: "user", content: "first" },
    { role: "assistant", content: "reply" },
    { role: "user", content: [{ type: "text", text: "se" }, { type: "text", text: "cond" }] },
  ];
  const asked = makeRecord({ question: "second", source: "f" });
  assert.deepEqual(map({ messages: turns }, columns), asked);
  const answered = [...turns, { role: "assistant", content: "It is \\boxed{4}" }];
  assert.deepEqual(map({ messages: answered }, columns), {
    ...asked,
    answer: "4",
    solution: "It is \\boxed{4}",
    solutionSteps: ["It is \\boxed{4}"],
  });
  const shared = [{ from: "human", value: "q" }, { from: "gpt", value: "a" }];
  const record = map({ messages: shared }, columns);
  assert.ok("solution" in record && record.question === "q" && record.solution === "a");
});

Deno.test("solutions to be judged", async () => {
  const columns = { question: "q", judgedSteps: "steps", firstError: "label" };
  const row = { q: "?", steps: ["a", "b"], label: 1 };
  assert.deepEqual(
    map(row, columns),
    makeRecord({ question: "?", source: "f", judged: { steps: ["a", "b"], firstError: 1 } }),
  );
  assert.equal(
    await messageOf(() => map({ ...row, label: 2 }, columns)),
    'f.jsonl:4, column "label": found 2 as the first wrong of 2 steps, expected -1 (all are right) to 1.',
  );
  assert.match(
    await messageOf(() => map({ ...row, label: 0.5 }, columns)),
    /f\.jsonl:4, column "label": found 0\.5, expected a whole number/,
  );
  assert.match(
    await messageOf(() => map({ ...row, steps: ["a", ""] }, columns)),
    /f\.jsonl:4, column "steps", item 2: found nothing, expected text/,
  );
  assert.match(
    await messageOf(() => map(row, { question: "q", judgedSteps: "steps" })),
    /found judgedSteps alone, expected judgedSteps and firstError together/,
  );
});

Deno.test("what a mapping does not find it says, with the columns there are", async () => {
  const row = { question: "1+1?", deep: { key: 1 }, list: ["a"] };
  assert.equal(
    await messageOf(() => map(row, { question: "Problem" })),
    'f.jsonl:4: there is no column "Problem"; found question, deep, list. Write null where a row has ' +
      "no value, or set the format or the columns of this file to what it holds.",
  );
  const all = { ...PLACE, columns: ["question", "other"] };
  assert.match(
    await messageOf(() => mapColumns({}, { question: "Problem" }, all)),
    /found question, other\./,
    "the columns of the file where only some were read",
  );
  assert.equal(
    await messageOf(() => map(row, { question: "question", answer: "deep.other" })),
    'f.jsonl:4: there is no "deep.other": "deep" is an object with key. Set the columns of this file ' +
      "to what it holds.",
  );
  assert.match(
    await messageOf(() => map(row, { question: "list.1" })),
    /there is no "list\.1": "list" is a list of 1\./,
  );
  assert.equal(
    await messageOf(() => map(row, { question: "deep" })),
    'f.jsonl:4, column "deep": found an object with key, expected text.',
  );
  assert.match(
    await messageOf(() => map({ m: [{ role: "system", content: "s" }] }, { question: "m" })),
    /column "m": found messages of system, expected one of a user/,
  );
  const image = [{ role: "user", content: [{ type: "image" }] }];
  assert.match(
    await messageOf(() => map({ m: image }, { question: "m" })),
    /column "m", message 1: found a part that is not text/,
  );
});

Deno.test("rows without a question are left out", () => {
  for (const q of [null, "", "  \n"]) {
    assert.deepEqual(map({ q }, { question: "q" }), { leftOut: "no question" });
  }
});

Deno.test("usual column names are found, whatever their case", () => {
  const guess = (row: Row) => {
    const found = Object.entries(guessColumns(row, PLACE)).filter(([, path]) => path !== undefined);
    return Object.fromEntries(found);
  };
  assert.deepEqual(guess({ question: "q", solution: "s", solution_steps: ["s"] }), {
    ...{ question: "question", solution: "solution", solutionSteps: "solution_steps" },
  });
  assert.deepEqual(guess({ ID: 1, Problem: "p", Answer: 1, Solution: "s" }), {
    question: "Problem",
    answer: "Answer",
    solution: "Solution",
  });
  assert.deepEqual(guess({ instruction: "i", input: "", output: "o" }), {
    question: ["instruction", "input"],
    solution: "output",
  });
  const messages = [{ role: "user", content: "q" }];
  assert.deepEqual(guess({ messages }), { question: "messages", solution: "messages" });
  assert.deepEqual(
    guess({ prompt: messages, reward_model: { ground_truth: 1 }, data_source: "d" }),
    {
      question: "prompt",
      answer: "reward_model.ground_truth",
      solution: "prompt",
      source: "data_source",
    },
  );
});

Deno.test("a guess that could go wrong is not made", async () => {
  const message = (row: Row) => messageOf(() => guessColumns(row, PLACE));
  assert.equal(
    await message({ question: "q", problem: "p" }),
    "f.jsonl:4: found question and problem, either of which may be the question, among the columns " +
      'question, problem. Set "columns" to say which to read, such as {"question": "Problem", ' +
      '"answer": "Answer"}, or "format" to a published one.',
  );
  assert.match(await message({ text: "t" }), /found no question among the columns text\./);
  assert.match(
    await message({ question: "q", answer: "1+1\n#### 2" }),
    /found #### in "answer" as GSM8K has it \(set format: gsm8k\)/,
  );
});

Deno.test("where no solution is written the answer is imitated", () => {
  const read = (row: Row) => {
    const { question, solution } = columnsToImitate(row, PLACE);
    return [question, solution];
  };
  assert.deepEqual(read({ question: "q", answer: "1+1=2\n#### 2" }), ["question", "answer"]);
  assert.deepEqual(read({ Prompt: "q", Answer: "a", solution: "s" }), ["Prompt", "solution"]);
  const messages = [{ role: "user", content: "q" }];
  assert.deepEqual(read({ messages, answer: "a" }), ["messages", "messages"]);
  assert.deepEqual(read({ question: "q" }), ["question", undefined]);
  assert.throws(() => read({ text: "t", answer: "a" }), /found no question/);
});
