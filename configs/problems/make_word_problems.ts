/**
 * Writes word-problems/train.jsonl, validation.jsonl and test.jsonl: short arithmetic problems with worked
 * solutions, in GSM8K's format, to try the engine on without fetching a data set.
 *
 * Four kinds of calculation occur in every part, each told in many ways: a question's wording, its people and
 * its things belong to one part alone. Solutions are written in the same words everywhere. What the test asks
 * for is the same reasoning on a text that was never seen; it is not a new kind of reasoning.
 *
 *   deno run -A configs/problems/make_word_problems.ts
 */

import { join } from "node:path";
import type { Split } from "../../src/data/split.ts";
import { RandomStream } from "../../src/random/philox.ts";
import { type KindName, wordings } from "./wordings.ts";

/** The numbers of a problem. */
interface Numbers {
  readonly a: number;
  readonly b: number;
  readonly c: number;
}

type Operator = "+" | "-" | "*" | "/";

/** A kind of calculation: (a first b) second c. */
interface Kind {
  readonly name: KindName;
  readonly operators: readonly [Operator, Operator];
  readonly numbers: (number: (from: number, to: number) => number) => Numbers;
}

const kinds: readonly Kind[] = [
  {
    name: "add, subtract",
    operators: ["+", "-"],
    numbers: (number) => ({ a: number(10, 30), b: number(2, 15), c: number(2, 9) }),
  },
  {
    name: "multiply, add",
    operators: ["*", "+"],
    numbers: (number) => ({ a: number(2, 9), b: number(2, 9), c: number(2, 9) }),
  },
  {
    name: "subtract, divide",
    operators: ["-", "/"],
    numbers: (number) => {
      const [each, c, b] = [number(2, 9), number(2, 6), number(2, 9)];
      return { a: each * c + b, b, c };
    },
  },
  {
    name: "add, multiply",
    operators: ["+", "*"],
    numbers: (number) => ({ a: number(2, 6), b: number(2, 6), c: number(2, 7) }),
  },
];

const people: Readonly<Record<Split, readonly string[]>> = {
  train: ["Ana", "Ben", "Chen", "Dora", "Emil", "Fatima", "Goran", "Hana", "Ivo", "Jun"],
  validation: ["Kofi", "Lena", "Mara"],
  test: ["Nils", "Olga", "Pia", "Quentin"],
};

const things: Readonly<Record<Split, readonly string[]>> = {
  train: ["apples", "books", "pens", "coins", "stamps", "marbles", "shells", "cards"],
  validation: ["plums", "spoons", "candles"],
  test: ["lemons", "buttons", "ribbons", "bottles"],
};

const results: Readonly<Record<Operator, (left: number, right: number) => number>> = {
  "+": (left, right) => left + right,
  "-": (left, right) => left - right,
  "*": (left, right) => left * right,
  "/": (left, right) => left / right,
};

/** How the step of an operation begins. */
const beginnings: Readonly<Record<Operator, string>> = {
  "+": "Together that is",
  "-": "That leaves",
  "*": "All of them make",
  "/": "Each part is",
};

function workedSolution({ operators: [first, second] }: Kind, { a, b, c }: Numbers): string {
  const between = results[first](a, b), answer = results[second](between, c);
  const step = (left: number, operator: Operator, right: number, result: number) =>
    `${beginnings[operator]} ${left} ${operator} ${right} = ${result}.`;
  const lines = [step(a, first, b, between), step(between, second, c, answer), `#### ${answer}`];
  return lines.join("\n");
}

/** Problems of each part. */
const sizes: Readonly<Record<Split, number>> = { train: 512, validation: 64, test: 64 };

function writePart(part: Split, stream: number): void {
  const random = new RandomStream(20261121, stream);
  const number = (from: number, to: number) => from + random.integer(to - from + 1);
  const pick = <Item>(items: readonly Item[]) => items[random.integer(items.length)];
  const rows = new Map<string, string>();
  for (let turn = 0; rows.size < sizes[part]; turn++) {
    // Every wording as often as any other.
    const kind = kinds[turn % kinds.length];
    const told = wordings[kind.name][part];
    const wording = told[Math.floor(turn / kinds.length) % told.length];
    const numbers = kind.numbers(number);
    const open = { name: pick(people[part]), thing: pick(things[part]), ...numbers };
    const question = Object.entries(open).reduce(
      (text, [key, value]) => text.replaceAll(`{${key}}`, `${value}`),
      wording,
    );
    rows.set(question, JSON.stringify({ question, answer: workedSolution(kind, numbers) }));
  }
  const file = join(import.meta.dirname ?? "", "word-problems", `${part}.jsonl`);
  Deno.writeTextFileSync(file, [...rows.values()].join("\n") + "\n");
}

writePart("train", 99);
writePart("validation", 100);
writePart("test", 101);
