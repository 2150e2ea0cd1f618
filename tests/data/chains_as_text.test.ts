import assert from "node:assert/strict";
import { join } from "node:path";
import { chainsAsText } from "../../src/data/chains_as_text.ts";
import type { Split } from "../../src/data/split.ts";
import { writeChains } from "../../src/data/write_chains.ts";
import { Tokenizer } from "../../src/model/tokenizer/tokenizer.ts";

const PARTS: readonly Split[] = ["train", "validation", "test"];
const SENTENCE = /^(\w+)'s pal (\w+) has (\d+) (more|fewer|times as many)$/;

/** Who is asked for has so many, by the sentences alone. */
function counted(question: string): number {
  const sentences = question.replace(/\?$/, "").split(". ");
  const [, who, first] = sentences[0].match(/^(\w+) has (\d+) pens$/) ?? assert.fail(sentences[0]);
  const counts = new Map([[who, Number(first)]]);
  for (const sentence of sentences.slice(1, -1)) {
    const [, source, person, number, how] = sentence.match(SENTENCE) ?? assert.fail(sentence);
    const before = counts.get(source) ?? assert.fail(source), change = Number(number);
    const after = how === "more"
      ? before + change
      : how === "fewer"
      ? before - change
      : before * change;
    assert.ok(after >= 1 && after <= 20, question);
    counts.set(person, after);
  }
  const [, asked] = sentences.at(-1)?.match(/^How many has (\w+)$/) ?? assert.fail(question);
  return counts.get(asked) ?? assert.fail(question);
}

Deno.test("chains in English: the answer follows from the sentences, and each step from the one before", () => {
  for (const part of PARTS) {
    const problems = [...chainsAsText(part, 300, 7)];
    const lengths = new Map<number, number>();
    for (const { question, answer } of problems) {
      const lines = answer.split("\n");
      const steps = lines.slice(0, -1);
      lengths.set(steps.length, (lengths.get(steps.length) ?? 0) + 1);
      let last: number | null = null;
      for (const step of steps) {
        const [, left, operator, right, result] = step.match(/^(\d+)([-+*])(\d+)=(\d+)$/) ??
          assert.fail(step);
        if (last !== null) assert.equal(Number(left), last);
        const [a, b] = [Number(left), Number(right)];
        last = operator === "+" ? a + b : operator === "-" ? a - b : a * b;
        assert.equal(last, Number(result));
      }
      assert.equal(lines.at(-1), `#### ${last}`);
      assert.equal(counted(question), last);
    }
    assert.deepEqual([...lengths.keys()].sort(), [2, 3, 4, 5, 6]);
    assert.equal(new Set(problems.map(({ question }) => question)).size, problems.length);
  }
});

Deno.test("chains in English: no calculation is in two parts, whatever the seed, and the same seed tells the same", () => {
  const calculations = (part: Split, seed: number) =>
    new Set(Array.from(chainsAsText(part, 2000, seed), ({ answer }) => answer));
  const train = calculations("train", 0);
  for (const part of ["validation", "test"] as const) {
    assert.ok(train.isDisjointFrom(calculations(part, 1)), part);
  }
  assert.deepEqual([...chainsAsText("test", 20, 3)], [...chainsAsText("test", 20, 3)]);
  assert.notDeepEqual([...chainsAsText("test", 20, 3)], [...chainsAsText("test", 20, 4)]);
});

Deno.test("chains in English: the files, and a tokenizer to which every word is a token or two", () => {
  const folder = Deno.makeTempDirSync();
  try {
    const written = writeChains({ folder, train: 400, seed: 0 });
    assert.deepEqual(written, [
      { file: "train.jsonl", problems: 400 },
      { file: "validation.jsonl", problems: 128 },
      { file: "test.jsonl", problems: 512 },
    ]);
    const read = (name: string) => Deno.readTextFileSync(join(folder, name));
    const json = (name: string) => JSON.parse(read(join("tokenizer", name)));
    const tokenizer = Tokenizer.fromJson(
      json("tokenizer.json"),
      json("tokenizer_config.json"),
      "test",
    );
    let words = 0, tokens = 0;
    for (const line of read("test.jsonl").trimEnd().split("\n")) {
      const { question } = JSON.parse(line);
      const ids = tokenizer.encode(question);
      assert.equal(tokenizer.decode(ids), question);
      words += question.match(/\w+|[^\w\s]/g)?.length ?? 0;
      tokens += ids.length;
    }
    assert.ok(tokens < 1.3 * words, `${tokens} tokens of ${words} words and signs`);
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
});
