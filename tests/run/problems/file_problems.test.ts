import assert from "node:assert/strict";
import { type DataConfig, dataSchema } from "../../../src/run/config/data_schema.ts";
import { FileProblems } from "../../../src/run/problems/file_problems.ts";
import { messageOf, withFiles } from "../../data/files/data_folder.ts";

type Row = { readonly question: string; readonly answer?: string; readonly source?: string };

const jsonLines = (rows: readonly Row[]) => rows.map((row) => JSON.stringify(row)).join("\n");

/** Problems q0, q1, ... whose prompts have as many tokens as characters. */
const numbered = (count: number, name = "q"): Row[] =>
  Array.from({ length: count }, (_, i) => ({ question: `${name}${i}`, answer: String(i) }));

interface Options {
  readonly seed?: number;
  readonly aside?: number;
  readonly answers?: boolean;
  readonly heldOut?: readonly Row[];
  readonly data?: Partial<DataConfig>;
}

/** Opens rows as problems, for the time of `body`. */
async function withProblems<T>(
  rows: readonly Row[],
  { seed = 1, aside = 2, answers = true, heldOut, data = {} }: Options,
  body: (problems: FileProblems) => T | Promise<T>,
): Promise<T> {
  const files = { "train.jsonl": jsonLines(rows), "held.jsonl": jsonLines(heldOut ?? []) };
  return await withFiles(files, async (folder) => {
    const config = dataSchema.parse({
      train: [{ path: `${folder}/train.jsonl` }],
      held_out: heldOut === undefined ? [] : [{ path: `${folder}/held.jsonl` }],
    });
    assert.ok(config);
    using problems = await FileProblems.open(
      { ...config, ...data },
      seed,
      { count: aside, seed: 9 },
      (question, maximum) => question.length <= maximum,
      { answers },
    );
    return await body(problems);
  });
}

const names = (records: readonly { readonly question: string }[]) =>
  records.map(({ question }) => question);
const all = (problems: FileProblems) => names(problems.heldOut(0, 1000));

Deno.test("file problems: an epoch has each record once, in an order of the epoch's and the seed's own", async () => {
  const epochs = (seed: number) =>
    withProblems(numbered(12), { seed }, (problems) => {
      const drawn = [1, 2].map((step) => names(problems.draw(step, 10)));
      assert.equal(problems.epochs, 2);
      return drawn;
    });
  const [first, second] = await epochs(1);
  assert.equal(new Set(first).size, 10);
  assert.deepEqual(first.toSorted(), second.toSorted());
  assert.notDeepEqual(first, second);
  assert.deepEqual(await epochs(1), [first, second]);
  const [other] = await epochs(2);
  assert.deepEqual(other.toSorted(), first.toSorted(), "the seed of the run sets nothing aside");
  assert.notDeepEqual(other, first);
});

Deno.test("file problems: what is drawn depends on the position alone", async () => {
  await withProblems(numbered(12), {}, (problems) => {
    problems.draw(1, 7);
    const position = problems.position;
    const drawn = problems.draw(2, 9);
    problems.draw(3, 25);
    problems.position = position;
    assert.deepEqual(problems.draw(40, 9), drawn);
    assert.equal(problems.position, 16);
  });
});

Deno.test("file problems: without shuffling they come in the file's order", async () => {
  const data = { shuffle: false };
  await withProblems(numbered(4), { data, heldOut: numbered(1, "h") }, (problems) => {
    assert.deepEqual(names(problems.draw(1, 6)), ["q0", "q1", "q2", "q3", "q0", "q1"]);
  });
});

Deno.test("file problems: what is set aside is never drawn, whichever the run's seed", async () => {
  const split = (seed: number) =>
    withProblems(numbered(20), { seed, aside: 6 }, (problems) => {
      const drawn = new Set(names(problems.draw(1, 14)));
      assert.equal(drawn.size, 14);
      return { held: all(problems), drawn };
    });
  const { held, drawn } = await split(1);
  assert.equal(held.length, 6);
  assert.ok(held.every((question) => !drawn.has(question)));
  assert.deepEqual((await split(2)).held, held);
});

Deno.test("file problems: every record of a question that is set aside is, but for white space", async () => {
  const rows = numbered(6).flatMap((row) => [row, { ...row, question: ` ${row.question}  ` }]);
  await withProblems(rows, { data: { keep_duplicates: true } }, (problems) => {
    const drawn = new Set(names(problems.draw(1, 40)).map((question) => question.trim()));
    const held = new Set(all(problems).map((question) => question.trim()));
    assert.equal(drawn.size + held.size, 6);
  });
  const same = [1, 2, 3].map(() => ({ question: "q", answer: "1" }));
  assert.match(
    await messageOf(() =>
      withProblems(same, { data: { keep_duplicates: true } }, () => assert.fail())
    ),
    /data\.train has no question but the 1 that evaluation\.problems sets aside/,
  );
});

Deno.test("file problems: questions of held-out files are never drawn", async () => {
  const heldOut = [...numbered(2, "h"), { question: " q1 ", answer: "1" }];
  await withProblems(numbered(4), { heldOut }, (problems) => {
    assert.deepEqual(names(problems.draw(1, 3)).toSorted(), ["q0", "q2", "q3"]);
    assert.deepEqual(all(problems), ["h0", "h1", " q1 "], "all there are, in their order");
    assert.equal(problems.heldOut(5, 2).length, 2);
    assert.deepEqual(problems.heldOut(5, 2), problems.heldOut(5, 2));
  });
});

Deno.test("file problems: with more set aside than there are, it is said what to do", async () => {
  assert.match(
    await messageOf(() => withProblems(numbered(3), { aside: 3 }, () => assert.fail())),
    /data\.train has 3 records, and evaluation\.problems sets 3 of them aside; name files/,
  );
});

Deno.test("file problems: too long prompts are passed over, however often they come round", async () => {
  const long = { question: "a long question", answer: "1" };
  const options = { heldOut: [...numbered(1, "h"), long], data: { maximum_prompt_tokens: 8 } };
  const rows = [{ question: "another long one", answer: "2" }, ...numbered(1)];
  await withProblems(rows, options, (problems) => {
    // 20 epochs: the long one is met more often than there are records.
    assert.deepEqual(new Set(names(problems.draw(1, 20))), new Set(["q0"]));
    assert.ok(problems.position >= 39);
    assert.deepEqual(all(problems), ["h0"]);
    assert.deepEqual(problems.questions(10), ["h0", "q0"]);
  });
});

Deno.test("file problems: when all prompts are too long, that is said before training", async () => {
  const message = (options: Options) =>
    messageOf(() => withProblems(numbered(3), options, () => assert.fail()));
  assert.match(
    await message({
      data: { maximum_prompt_tokens: 1 },
      heldOut: [{ question: "h", answer: "1" }],
    }),
    /none of the 3 problems has a prompt of at most 1 tokens[^]*raise data\.maximum_prompt_tokens/,
  );
  assert.match(
    await message({ data: { maximum_prompt_tokens: 2 }, heldOut: numbered(2, "held") }),
    /none of the 2 held-out problems has a prompt of at most 2 tokens/,
  );
});

Deno.test("file problems: answers are asked for unless the reward needs none", async () => {
  const rows = numbered(5).map(({ question }) => ({ question }));
  assert.match(
    await messageOf(() => withProblems(rows, {}, () => assert.fail())),
    /no record is left[^]*5 dropped: no reference answer/,
  );
  await withProblems(rows, { answers: false }, async (problems) => {
    const [problem] = problems.draw(1, 1);
    assert.equal(problems.source.referenceAnswer(problem), "");
    assert.equal(await problems.source.isCorrect(problem, ""), false);
  });
});

Deno.test("file problems: the source says question, answer, origin, and judges", async () => {
  const rows = [
    { question: "half", answer: "1/2", source: "fractions" },
    { question: "one", answer: "1", source: "numbers" },
  ];
  await withProblems(rows, { heldOut: numbered(1, "h") }, async (problems) => {
    const problem = problems.draw(1, 2).find(({ question }) => question === "half");
    assert.ok(problem);
    const { source } = problems;
    assert.equal(source.referenceAnswer(problem), "1/2");
    assert.equal(source.sourceName(problem), "fractions");
    assert.equal(await source.isCorrect(problem, "0.5"), true);
    assert.equal(await source.isCorrect(problem, "2"), false);
    assert.equal(await source.isCorrect(problem, null), false);
  });
});

Deno.test("file problems: for measuring alone, all records of all files are held out", async () => {
  const files = { "a.jsonl": jsonLines(numbered(3)), "b.jsonl": jsonLines(numbered(2, "b")) };
  await withFiles(files, async (folder) => {
    const entries = ["a", "b"].map((name) => `${folder}/${name}.jsonl`).map((path) =>
      dataSchema.parse({ train: [{ path }] })!.train[0]
    );
    using problems = await FileProblems.forEvaluation(entries);
    assert.deepEqual(all(problems), ["q0", "q1", "q2", "b0", "b1"]);
    assert.deepEqual(problems.heldOut(0, 5).map(problems.source.sourceName), [
      "a",
      "a",
      "a",
      "b",
      "b",
    ]);
  });
});
