/** The grammar of word problems: how many wordings there are, that none is in two parts, and that solutions are right. */

import assert from "node:assert/strict";
import {
  type Part,
  PARTS,
  type WordProblem,
  wordProblems,
} from "../../src/data/word_problems/grammar.ts";
import { join } from "node:path";
import { exists } from "../../src/platform/files/atomic_file.ts";
import { writeWordProblems } from "../../src/data/word_problems/write_word_problems.ts";
import { trainTokenizer } from "../../src/data/word_problems/train_tokenizer.ts";
import { Tokenizer } from "../../src/model/tokenizer/tokenizer.ts";

const SIZES = { train: 2100, validation: 128, newNumbers: 256, newWordings: 256 };
const problems = Object.fromEntries(
  PARTS.map((part) => [part, [...wordProblems(part, SIZES[part], 0)]]),
) as Record<Part, WordProblem[]>;

/** People and things, which the test knows by itself. */
const WORDS = "Ana Ben Chen Dora Emil Fatima Goran Hana Ivo Jun Kofi Lena Mara Nils Olga Pia " +
  "apples books pens coins stamps marbles shells cards lemons buttons ribbons candles";
const open = new RegExp(`\\b(?:${WORDS.replaceAll(" ", "|")})\\b|\\d+`, "g");
/** A text's wording: numbers, people and things left open. */
const wordingOf = (text: string) => text.replace(open, "_");
const sentencesOf = (text: string) => wordingOf(text).split(/(?<=[.?]) /);

const wordingsOf = (part: Part) =>
  new Set(problems[part].map(({ question }) => wordingOf(question)));
const sentencesIn = (part: Part) =>
  new Set(problems[part].flatMap(({ question }) => sentencesOf(question)));
const workOf = ({ answer }: WordProblem) => answer.split("\n####")[0];

Deno.test("word problems: hundreds of wordings, and of those that are new no sentence is known", () => {
  const counts = PARTS.map((part) => wordingsOf(part).size);
  console.log(
    `wordings in ${PARTS}: ${counts}; sentences: ${PARTS.map((p) => sentencesIn(p).size)}`,
  );
  assert.ok(wordingsOf("train").size >= 600);
  assert.ok(wordingsOf("newWordings").size >= 200);
  const known = sentencesIn("train").union(sentencesIn("validation")).union(
    sentencesIn("newNumbers"),
  );
  assert.ok(known.size >= 180 && sentencesIn("newWordings").size >= 120);
  assert.deepEqual([...sentencesIn("newWordings").intersection(known)], []);
  assert.ok(wordingsOf("newNumbers").isSubsetOf(wordingsOf("train")));
  assert.ok(wordingsOf("validation").isDisjointFrom(wordingsOf("train")));
  assert.ok(sentencesIn("validation").isSubsetOf(sentencesIn("train")));
});

Deno.test("word problems: no calculation is trained on that is chosen by or reported", () => {
  const work = (part: Part) => new Set(problems[part].map(workOf));
  assert.ok(work("train").isDisjointFrom(work("validation")));
  for (const part of ["newNumbers", "newWordings"] as const) {
    assert.ok(work(part).isDisjointFrom(work("train").union(work("validation"))));
  }
  for (const part of PARTS) {
    assert.equal(new Set(problems[part].map(({ question }) => question)).size, SIZES[part]);
  }
});

Deno.test("word problems: solutions are two to four right calculations with the question's numbers", () => {
  const results: Record<string, (left: number, right: number) => number> = {
    "+": (left, right) => left + right,
    "-": (left, right) => left - right,
    "*": (left, right) => left * right,
    "/": (left, right) => left / right,
  };
  const lengths = new Map<number, number>();
  for (const { question, answer } of PARTS.flatMap((part) => problems[part])) {
    // A count of one would need a singular.
    const told = (question.match(/\d+/g) ?? []).map(Number);
    assert.ok(told.every((number) => number >= 2), question);
    assert.doesNotMatch(question, /[{}]|undefined/);
    const steps = answer.split("\n"), last = steps.pop();
    lengths.set(steps.length, (lengths.get(steps.length) ?? 0) + 1);
    const known = new Set(told);
    const used = new Set<number>();
    let result = 0;
    for (const step of steps) {
      const [, left, operator, right, claimed] = step.match(/^(\d+)([-+*/])(\d+)=(\d+)$/) ?? [];
      for (const operand of [left, right].map(Number)) {
        assert.ok(known.has(operand), `${operand} in ${answer} of ${question}`);
        used.add(operand);
      }
      result = results[operator](Number(left), Number(right));
      assert.equal(result, Number(claimed), step);
      known.add(result);
    }
    assert.equal(last, `#### ${result}`);
    for (const number of told) assert.ok(used.has(number), `${number} of ${question}`);
  }
  assert.deepEqual([...lengths.keys()].sort(), [2, 3, 4]);
  for (const count of lengths.values()) assert.ok(count > 300, `${[...lengths]}`);
});

/** The answer to a comparison told in training's words, by reading each sentence; null where it is another story. */
function answerByReading(question: string): number | null {
  const counts = new Map<string, number>();
  const relate = (one: string, by: (count: number) => number, other: string) => {
    const count = counts.get(other);
    if (count !== undefined) counts.set(one, by(count));
    return count !== undefined;
  };
  for (const sentence of question.split(/(?<=[.?]) /)) {
    const read = (pattern: RegExp) => pattern.exec(sentence)?.slice(1) ?? null;
    let found: string[] | null;
    if ((found = read(/^(\w+) \w+ (\d+) (?:km |\w+ )?(more|farther|fewer|less)\b.* than (\w+)/))) {
      const [one, number, way, other] = found;
      const n = Number(number) * (way === "more" || way === "farther" ? 1 : -1);
      if (!relate(one, (count) => count + n, other)) relate(other, (count) => count - n, one);
    } else if ((found = read(/^(\w+) stops (\d+) km before (\w+) does/))) {
      const n = Number(found[1]);
      relate(found[0], (count) => count - n, found[2]);
    } else if ((found = read(/^(\w+) \w+ (\d+) times as .*as (\w+)/))) {
      const n = Number(found[1]);
      relate(found[0], (count) => count * n, found[2]);
    } else if ((found = read(/^For each .*that (\w+) \w+, (\w+) \w+ (\d+)\./))) {
      const n = Number(found[2]);
      relate(found[1], (count) => count * n, found[0]);
    } else if ((found = read(/(\w+) and (\w+) (?:have|own|go) .*\?$/))) {
      return found.reduce((sum, name) => sum + (counts.get(name) ?? NaN), 0);
    } else if (sentence.endsWith("?")) {
      const asked = [...counts.keys()].find((name) => new RegExp(`\\b${name}\\b`).test(sentence));
      return asked === undefined ? null : counts.get(asked) ?? null;
    } else if ((found = read(/^(?:On Sunday )?(\w+) \w+ (\d+) \w+(?: in a bag| by bike)?\.$/))) {
      if (counts.size > 0) return null;
      counts.set(found[0], Number(found[1]));
    } else return null;
  }
  return null;
}

Deno.test("word problems: comparisons mean what their sentences say", () => {
  const compared = problems.train.filter(({ question }) =>
    /\b(?:than|as|before|that) [A-Z]/.test(question)
  );
  let read = 0;
  for (const { question, answer } of compared) {
    assert.equal(`#### ${answerByReading(question)}`, answer.split("\n").at(-1), question);
    read++;
  }
  assert.ok(read > 200, `${read}`);
});

Deno.test("word problems: the seed decides, and fewer of them are the first", () => {
  const drawn = (count: number, seed: number) => [...wordProblems("train", count, seed)];
  assert.deepEqual(drawn(50, 0), problems.train.slice(0, 50));
  const [one, other] = [drawn(50, 0), drawn(50, 1)];
  assert.notDeepEqual(one, other);
  // Wordings are no matter of the seed: what is new to one file is new to all.
  const wordings = (drawn: WordProblem[]) => drawn.map(({ question }) => wordingOf(question));
  assert.deepEqual(wordings(one), wordings(other));
});

Deno.test("word problems: no number is larger than what is the most, whatever that is", () => {
  const most = 40;
  for (const part of PARTS) {
    const few = [...wordProblems(part, 256, 0, most)];
    const numbers = few.flatMap(({ question, answer }) =>
      `${question} ${answer}`.match(/\d+/g)?.map(Number) ?? []
    );
    assert.ok(numbers.length > 1000 && Math.max(...numbers) === most, part);
    // The same wordings in the same order, but for those that have no problem left with so small numbers.
    const wordings = problems[part].slice(0, 256).map(({ question }) => wordingOf(question));
    let at = -1;
    for (const { question } of few.slice(0, 100)) {
      at = wordings.indexOf(wordingOf(question), at + 1);
      assert.ok(at >= 0, question);
    }
  }
  // Of more problems than wordings each wording tells one, but for those that are counted.
  const told = new Set<string>();
  const source = wordProblems("validation", 128, 0, 20);
  let next = source.next();
  for (; next.done !== true; next = source.next()) told.add(wordingOf(next.value.question));
  const all = wordingsOf("validation").size;
  assert.ok(told.size < all && next.value >= all - told.size, `${next.value}, ${told.size} told`);
  const parent = Deno.makeTempDirSync();
  try {
    const folder = join(parent, "problems");
    assert.throws(() => writeWordProblems({ folder, train: 100, seed: 0, largest: 3 }), {
      name: "UserError",
      message:
        /^Only 0 of 128 problems can be told where the most is 3: take a smaller --train or a larger --largest\.$/,
    });
    assert.ok(!exists(folder), "what cannot be told leaves files behind");
  } finally {
    Deno.removeSync(parent, { recursive: true });
  }
});

Deno.test("word problems: the tokenizer learned from training gives every text back, digits single", () => {
  const texts = problems.train.slice(0, 500).map(({ question }) => question);
  const files = trainTokenizer(texts, 400);
  const settings = files["tokenizer_config.json"];
  const tokenizer = Tokenizer.fromJson(files["tokenizer.json"], settings, "test");
  let characters = 0, tokens = 0;
  for (const { question, answer } of PARTS.flatMap((part) => problems[part].slice(0, 100))) {
    const text = `${question}\n<think><step>${answer}</step>`;
    const ids = tokenizer.encode(text);
    assert.equal(tokenizer.decode(ids), text);
    for (const piece of tokenizer.decodeEach(ids)) assert.match(piece, /^(?:\d|[^\d]+)$/);
    assert.ok(ids.every((id) => id < 400));
    characters += text.length;
    tokens += ids.length;
  }
  assert.ok(characters > 2 * tokens, `${characters} characters, ${tokens} tokens`);
  assert.throws(() => trainTokenizer(texts, 50), /expected 1\d\d or more/);
});

Deno.test("tokenizer: the most frequent pair is merged first, and merged everywhere", () => {
  const model = trainTokenizer(["abab abab cab"], 1000)["tokenizer.json"].model as {
    merges: [string, string][];
    vocab: Record<string, number>;
  };
  // ab occurs five times; then " " before abab and ab before ab twice each, the former first in order of characters.
  assert.deepEqual(model.merges.slice(0, 1), [["a", "b"]]);
  assert.ok(model.vocab["abab"] > model.vocab["ab"]);
});
