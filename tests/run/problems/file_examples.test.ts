import assert from "node:assert/strict";
import { splitOf } from "../../../src/data/split.ts";
import { characterTokenizer, characterTokenizerConfig } from "../../../src/data/vocabulary.ts";
import { Tokenizer } from "../../../src/model/tokenizer/tokenizer.ts";
import type { SupervisedSample } from "../../../src/rl/update/supervised_update.ts";
import { solutionWording } from "../../../src/run/problems/example_wording.ts";
import { FileExamples } from "../../../src/run/problems/file_examples.ts";
import { sftConfigSchema } from "../../../src/run/config/sft_config_schema.ts";
import { messageOf, withFiles } from "../../data/files/data_folder.ts";

const tokenizer = Tokenizer.fromJson(
  { ...characterTokenizer() },
  { ...characterTokenizerConfig() },
  "the character vocabulary",
);

/** A held-out row for tests of what is trained on. */
const HELD = { question: "h", answer: "1", solution: "so \\boxed{1}" };

interface Options {
  readonly seed?: number;
  /** Held-out rows, in a file of their own. */
  readonly heldOut?: readonly object[];
  readonly data?: Readonly<Record<string, unknown>>;
  readonly positions?: number;
}

/** Opens rows as examples, prompted by "question=". */
async function withExamples<T>(
  rows: readonly object[],
  { seed = 1, heldOut = [HELD], data = {}, positions = 100 }: Options,
  body: (examples: FileExamples) => T,
): Promise<T> {
  const lines = (rows: readonly object[]) => rows.map((row) => JSON.stringify(row)).join("\n");
  const files = { "train.jsonl": lines(rows), "test.jsonl": lines(heldOut) };
  return await withFiles(files, async (folder) => {
    const config = sftConfigSchema.parse({
      policy: "generator",
      initial_model: "some/model",
      seed,
      data: {
        train: [{ path: `${folder}/train.jsonl` }],
        held_out: [{ path: `${folder}/test.jsonl` }],
        validation: null,
        ...data,
      },
    });
    assert.ok(config.data);
    const template = { render: ({ question }: { question: string | number }) => `${question}=` };
    const wordings = [solutionWording(template, config.data.response)];
    const form = { tokenizer, wordings, turnEnd: null, maxPositions: positions };
    return body(await FileExamples.open({ ...config, data: config.data }, form));
  });
}

const numbered = (count: number) =>
  Array.from({ length: count }, (_, i) => ({ question: `q${i}`, solution: `it is ${i}` }));

const promptsOf = (samples: readonly SupervisedSample[]) =>
  samples.map(({ prompt }) => tokenizer.decode(prompt));
const responsesOf = (samples: readonly SupervisedSample[]) =>
  samples.map(({ response }) => tokenizer.decode(response));

Deno.test("file examples: the response alone counts, and it ends", async () => {
  await withExamples(numbered(3), {}, (examples) => {
    const [sample] = examples.draw(1, 1);
    const [prompt] = promptsOf([sample]);
    assert.match(prompt, /^q\d=$/);
    assert.equal(responsesOf([sample])[0], `it is ${prompt[1]}`);
    assert.equal(sample.response.at(-1), tokenizer.specialToken("eos_token"));
    assert.equal(sample.response.length, "it is 0".length + 1);
    assert.deepEqual(sample.weights, new Float32Array(sample.response.length).fill(1));
  });
});

Deno.test("file examples: each epoch has each once; what is drawn depends on the position", async () => {
  await withExamples(numbered(7), {}, (examples) => {
    const epoch = promptsOf(examples.draw(1, 7));
    assert.equal(new Set(epoch).size, 7);
    assert.equal(examples.epochs, 1);
    const next = promptsOf(examples.draw(2, 7));
    assert.deepEqual(next.toSorted(), epoch.toSorted());
    assert.notDeepEqual(next, epoch);
    examples.position = 7;
    assert.deepEqual(promptsOf(examples.draw(9, 7)), next);
  });
});

Deno.test("file examples: files come as often as their weights say", async () => {
  await withFiles({
    "often.jsonl": [0, 1, 2].map((i) => JSON.stringify({ question: `o${i}`, solution: "x" })).join(
      "\n",
    ),
    "rarely.jsonl": [0, 1, 2, 3].map((i) => JSON.stringify({ question: `r${i}`, solution: "x" }))
      .join("\n"),
  }, async (folder) => {
    const often = { path: `${folder}/often.jsonl`, weight: 3 };
    const train = [often, { path: `${folder}/rarely.jsonl`, weight: 0.5 }];
    await withExamples([], { data: { train } }, (examples) => {
      const passes = [1, 2].map((step) => promptsOf(examples.draw(step, 11)).toSorted());
      assert.equal(examples.epochs, 2);
      const [o, r] = ["o", "r"].map((name) =>
        passes.map((pass) => pass.filter((prompt) => prompt.startsWith(name)))
      );
      assert.deepEqual(o[0], ["o0=", "o0=", "o0=", "o1=", "o1=", "o1=", "o2=", "o2=", "o2="]);
      assert.deepEqual(o[1], o[0]);
      assert.deepEqual(r.flat().toSorted(), ["r0=", "r1=", "r2=", "r3="]);
      assert.match(examples.report, /often\.jsonl: each record 3 times in a pass/);
    });
  });
});

Deno.test("file examples: a weight belongs to what is trained on", () => {
  const data = {
    train: [{ path: "a.jsonl", weight: 0 }],
    held_out: [{ path: "b.jsonl", weight: 2 }],
  };
  const config = { policy: "generator", initial_model: "some/model", data };
  const { error } = sftConfigSchema.safeParse(config);
  const issues = error?.issues.map(({ path, message }) => `${path.join(".")}: ${message}`).sort() ??
    [];
  assert.equal(issues.length, 2);
  assert.match(issues[0], /^data\.held_out\.0: .*weight/);
  assert.match(issues[1], /^data\.train\.0\.weight: /);
});

Deno.test("file examples: the seed decides the order and not what is held out", async () => {
  const of = (seed: number) =>
    // Without files of them, those that their text puts there are held out.
    withExamples(numbered(60), { seed, data: { held_out: [] } }, (examples) => ({
      drawn: promptsOf(examples.draw(1, 56)),
      held: promptsOf(examples.heldOut("test")),
    }));
  const [one, same, other] = [await of(1), await of(1), await of(2)];
  assert.deepEqual(one, same);
  assert.notDeepEqual(one.drawn, other.drawn);
  assert.deepEqual(one.held, other.held);
  const heldOut = numbered(60).map(({ question }) => question)
    .filter((question) => splitOf(question) === "test").map((question) => `${question}=`);
  assert.deepEqual(one.held, heldOut);
  assert.ok(heldOut.length > 0 && heldOut.every((prompt) => !one.drawn.includes(prompt)));
});

Deno.test("file examples: too long ones are passed over, however often they come round", async () => {
  const long = { question: "a question of many letters", solution: "a" };
  const wordy = { question: "q8", solution: "an answer that does not come to its end" };
  const data = { maximum_prompt_tokens: 8, maximum_response_tokens: 12, shuffle: false };
  await withExamples([long, ...numbered(4), wordy], { data }, (examples) => {
    const drawn = new Set(promptsOf(examples.draw(1, 30)));
    assert.ok(!drawn.has("q8=") && drawn.size >= 3);
    assert.ok(promptsOf(examples.some(100)).every((prompt) => /^q[0-3]=$/.test(prompt)));
  });
  const short = { maximum_response_tokens: 3 };
  assert.match(
    await messageOf(() => withExamples(numbered(4), { data: short }, () => assert.fail())),
    /no example has a prompt of at most 512 tokens and a response of at most 3, together at most/,
  );
});

Deno.test("file examples: what exceeds the model's positions is passed over", async () => {
  const rows = [...numbered(4), { question: "q9", solution: "it is a lot of it" }];
  await withExamples(
    rows,
    { heldOut: numbered(5).slice(4), positions: "q1=it is 1".length + 1 },
    (examples) => {
      const drawn = [...examples.draw(1, 20), ...examples.heldOut("test")];
      assert.deepEqual(new Set(promptsOf(drawn)), new Set(["q0=", "q1=", "q2=", "q3=", "q4="]));
    },
  );
  assert.match(
    await messageOf(() => withExamples(rows, { positions: 5 }, () => assert.fail())),
    /together at most the model's 5 positions/,
  );
});

Deno.test("file examples: solutions may be imitated by their steps, in the generator's format", async () => {
  const rows = [0, 1, 2].map((i) => ({
    question: `q${i}`,
    answer: `${i}`,
    steps: ["first this", `then ${i}`],
  }));
  const columns = { question: "question", answer: "answer", solution_steps: "steps" };
  const entry = (folder: string) => [{ path: `${folder}/train.jsonl`, columns }];
  const lines = rows.map((row) => JSON.stringify(row)).join("\n");
  await withFiles({ "train.jsonl": lines }, async (folder) => {
    const data = { train: entry(folder), response: "steps" };
    await withExamples([], { data }, (examples) => {
      const [sample] = examples.draw(1, 1);
      const i = promptsOf([sample])[0][1];
      assert.equal(
        responsesOf([sample])[0],
        `<think>\n<step>first this</step>\n<step>then ${i}</step>\n</think>\n` +
          `<answer>\\boxed{${i}}</answer>`,
      );
    });
  });
});

Deno.test("file examples: what has no steps or no answer is not imitated by its steps", async () => {
  const rows = [
    { question: "a", solution: "We add. So it is \\boxed{1}." },
    { question: "b", solution: "We add. So it is 2." },
    { question: "c", solution: "We double. So it is \\boxed{3}." },
  ];
  await withExamples(rows, { data: { response: "steps" } }, (examples) => {
    assert.deepEqual(promptsOf(examples.draw(1, 2)).toSorted(), ["a=", "c="]);
  });
  await withExamples(rows, {}, (examples) => {
    assert.deepEqual(promptsOf(examples.draw(1, 3)).toSorted(), ["a=", "b=", "c="]);
  });
});
