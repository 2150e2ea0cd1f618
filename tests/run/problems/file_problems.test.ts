import assert from "node:assert/strict";
import { type Split, splitOf } from "../../../src/data/split.ts";
import { type DataConfig, dataSchema } from "../../../src/run/config/data_schema.ts";
import { FileProblems } from "../../../src/run/problems/file_problems.ts";
import { messageOf, withFiles } from "../../data/files/data_folder.ts";

type Row = { readonly question: string; readonly answer?: string; readonly source?: string };

const jsonLines = (rows: readonly Row[]) => rows.map((row) => JSON.stringify(row)).join("\n");

/** Problems q0, q1, ... whose prompts have as many tokens as characters. */
const numbered = (count: number, name = "q"): Row[] =>
  Array.from({ length: count }, (_, i) => ({ question: `${name}${i}`, answer: String(i) }));

const HELD: readonly Row[] = [{ question: "h", answer: "1" }];

interface Options {
  readonly seed?: number;
  readonly count?: number | null;
  readonly answers?: boolean;
  /** The rows of the test file; null: there is none. */
  readonly heldOut?: readonly Row[] | null;
  readonly validation?: boolean;
  readonly data?: Partial<DataConfig>;
}

/** Opens rows as problems, for the time of `body`. */
async function withProblems<T>(
  rows: readonly Row[],
  { seed = 1, count = null, answers = true, heldOut = HELD, validation = false, data = {} }:
    Options,
  body: (problems: FileProblems) => T | Promise<T>,
): Promise<T> {
  const files = { "train.jsonl": jsonLines(rows), "held.jsonl": jsonLines(heldOut ?? []) };
  return await withFiles(files, async (folder) => {
    const config = dataSchema.parse({
      train: [{ path: `${folder}/train.jsonl` }],
      held_out: heldOut === null ? [] : [{ path: `${folder}/held.jsonl` }],
      validation: validation ? [] : null,
    });
    assert.ok(config);
    using problems = await FileProblems.open(
      { ...config, ...data },
      seed,
      { problems: count, seed: 9 },
      (question, maximum) => question.length <= maximum,
      { answers, validation },
    );
    return await body(problems);
  });
}

const names = (records: readonly { readonly question: string }[]) =>
  records.map(({ question }) => question);
const all = (problems: FileProblems) => names(problems.heldOut("test"));

Deno.test("file problems: an epoch has each record once, in an order of the epoch's and the seed's own", async () => {
  const epochs = (seed: number) =>
    withProblems(numbered(10), { seed }, (problems) => {
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

const partOf = (rows: readonly Row[], part: Split) =>
  names(rows).filter((question) => splitOf(question) === part);

Deno.test("file problems: what is set aside depends on the questions alone and is never drawn", async () => {
  const rows = numbered(60);
  for (const [seed, count] of [[1, null], [2, 3]] as const) {
    const options = { seed, count, heldOut: null, validation: true };
    await withProblems(rows, options, (problems) => {
      const held = [all(problems), names(problems.heldOut("validation"))];
      const expected = [partOf(rows, "test"), partOf(rows, "validation")];
      assert.ok(expected.every(({ length }) => length >= 3));
      if (count === null) assert.deepEqual(held, expected);
      for (const [i, part] of held.entries()) {
        assert.equal(part.length, count ?? expected[i].length);
        assert.ok(part.every((question) => expected[i].includes(question)));
      }
      const train = partOf(rows, "train");
      assert.deepEqual(names(problems.draw(1, train.length)).toSorted(), train.toSorted());
    });
  }
});

Deno.test("file problems: validation null trains on its part, and nothing else does", async () => {
  const rows = numbered(60);
  const drawn = async (options: Options) =>
    await withProblems(rows, { heldOut: null, ...options }, (problems) => {
      const held = names(problems.heldOut("validation"));
      return { held, train: new Set(names(problems.draw(1, 60 - all(problems).length))) };
    });
  const given = await drawn({});
  assert.deepEqual(given.held, []);
  assert.ok(given.train.isSupersetOf(new Set(partOf(rows, "validation"))));
  // Whether weights are chosen or not.
  for (const choosing of [false, true]) {
    const { held, train } = await drawn({ validation: choosing, data: { validation: [] } });
    assert.deepEqual(held, partOf(rows, "validation"));
    assert.deepEqual([...train].toSorted(), partOf(rows, "train").toSorted());
  }
});

Deno.test("file problems: every record of a question that is set aside is, but for white space", async () => {
  const rows = numbered(40).flatMap((row) => [row, { ...row, question: ` ${row.question}  ` }]);
  const options = { heldOut: null, data: { keep_duplicates: true } };
  await withProblems(rows, options, (problems) => {
    const trimmed = (questions: readonly string[]) =>
      new Set(questions.map((question) => question.trim()));
    const drawn = trimmed(names(problems.draw(1, 80))), held = trimmed(all(problems));
    assert.deepEqual([...held], ["q0", "q29", "q32"]);
    assert.equal(drawn.size, 37);
    assert.ok(held.isDisjointFrom(drawn));
  });
});

Deno.test("file problems: where nothing falls into a part, it is said what to do", async () => {
  const none = numbered(29).slice(1);
  assert.match(
    await messageOf(() => withProblems(none, { heldOut: null }, () => assert.fail())),
    /data\.train has 28 records, and none of them falls into the tenth[^]* set aside to be reported; name files/,
  );
  assert.match(
    await messageOf(() => withProblems(numbered(1), { heldOut: null }, () => assert.fail())),
    /data\.train has no question that is not held out/,
  );
});

Deno.test("file problems: questions of held-out files are never drawn", async () => {
  const heldOut = [...numbered(2, "h"), { question: " q1 ", answer: "1" }];
  await withProblems(numbered(4), { heldOut }, (problems) => {
    assert.deepEqual(names(problems.draw(1, 3)).toSorted(), ["q0", "q2", "q3"]);
    assert.deepEqual(all(problems), ["h0", "h1", " q1 "], "all there are, in their order");
  });
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
    assert.equal(problems.passedOver, 1);
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
    const fit = (question: string) => question !== "b0";
    using problems = await FileProblems.forEvaluation(entries, { problems: null, seed: 0 }, fit);
    const held = problems.heldOut("test");
    assert.deepEqual(names(held), ["q0", "q1", "q2", "b1"]);
    assert.deepEqual(held.map(problems.source.sourceName), ["a", "a", "a", "b"]);
    assert.equal(problems.passedOver, 1);
  });
});

Deno.test("file problems: a question that two benchmarks share is measured in each", async () => {
  const shared = { question: "s", answer: "1" };
  const heldOut = [{ ...shared, source: "one" }, { ...shared, source: "two" }];
  await withProblems([shared, ...numbered(2)], { heldOut }, (problems) => {
    assert.deepEqual(problems.heldOut("test").map(problems.source.sourceName), ["one", "two"]);
    assert.deepEqual(names(problems.draw(1, 2)).toSorted(), ["q0", "q1"]);
  });
});

Deno.test("problems from files: steps are labelled where every solution is one calculation a step", async () => {
  const columns = { question: "question", answer: "answer", solution_steps: "steps" };
  const row = (question: string, steps: readonly string[]) =>
    JSON.stringify({ question, answer: steps.at(-1)?.split("=").at(-1)?.trim(), steps });
  const terse = [row("a", ["3+4=7", "7*2=14"]), row("b", ["5 - 1 = 4"])];
  for (
    const [rows, isLabelled] of [[terse, true], [[...terse, row("c", ["So 4."])], false]] as const
  ) {
    await withFiles({ "train.jsonl": rows.join("\n") }, async (folder) => {
      const config = dataSchema.parse({
        train: [{ path: `${folder}/train.jsonl`, columns }],
        held_out: [{ path: `${folder}/train.jsonl`, columns }],
        validation: null,
      });
      assert.ok(config);
      const { train } = config;
      using problems = await FileProblems.forEvaluation(
        train,
        { problems: null, seed: 9 },
        () => true,
      );
      const { source } = problems;
      assert.equal(source.labelSteps !== undefined, isLabelled);
      assert.equal(source.readOwnResult !== undefined, isLabelled);
      if (!isLabelled) return;
      const a = problems.heldOut("test").find(({ question }) => question === "a");
      assert.ok(a);
      assert.deepEqual(source.labelSteps?.(a, ["4+3=7", "7+2=9", "9+5=14"]), [true, false, false]);
      assert.equal(source.neededSteps?.(a), 2);
    });
  }
});
