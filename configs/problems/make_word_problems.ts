/**
 * Writes word-problems/train.jsonl, validation.jsonl and test.jsonl: short arithmetic problems with worked
 * solutions, in GSM8K's format, to try the engine on without fetching a data set.
 *
 * Four kinds of calculation occur in every part, each told in its own words there: a question's wording, its
 * solution's, its people and its things belong to one part alone. What the test asks for is the same
 * reasoning on a text that was never seen; it is not a new kind of reasoning.
 *
 *   deno run -A configs/problems/make_word_problems.ts
 */

import { join } from "node:path";
import type { Split } from "../../src/data/split.ts";
import { RandomStream } from "../../src/random/philox.ts";

/** Numbers and words that a problem is made of. */
interface Parts {
  readonly name: string;
  readonly thing: string;
  readonly a: number;
  readonly b: number;
  readonly c: number;
}

/** How a kind of problem is told: the question, and its two steps without what they come to. */
interface Wording {
  readonly question: (parts: Parts) => string;
  readonly steps: (parts: Parts, first: string, second: string) => readonly [string, string];
}

/** A kind of calculation: its numbers, and two steps as a formula and its result. */
interface Kind {
  readonly numbers: (number: (from: number, to: number) => number) => Pick<Parts, "a" | "b" | "c">;
  readonly work: (parts: Parts) => readonly [Formula, Formula];
  readonly wordings: Readonly<Record<Split, readonly Wording[]>>;
}

type Formula = readonly [text: string, result: number];

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

const kinds: readonly Kind[] = [
  {
    numbers: (number) => ({ a: number(5, 30), b: number(2, 20), c: number(1, 6) }),
    work: ({ a, b, c }) => [[`${a} + ${b}`, a + b], [`${a + b} - ${c}`, a + b - c]],
    wordings: {
      train: [
        {
          question: ({ name, thing, a, b, c }) =>
            `${name} has ${a} ${thing}, gets ${b} more and gives away ${c}. How many ${thing} does ` +
            `${name} have now?`,
          steps: ({ thing }, first, second) => [
            `With the new ones there are ${first} ${thing}.`,
            `After giving some away there are ${second} ${thing}.`,
          ],
        },
        {
          question: ({ name, thing, a, b, c }) =>
            `There are ${a} ${thing} in a box. ${name} puts ${b} in and takes ${c} out. How many ${thing} ` +
            `are in the box then?`,
          steps: ({ thing }, first, second) => [
            `Filled up, the box holds ${first} ${thing}.`,
            `Then it holds ${second} ${thing}.`,
          ],
        },
      ],
      validation: [{
        question: ({ name, thing, a, b, c }) =>
          `A shelf of ${name}'s carries ${a} ${thing}. ${b} are added, then ${c} fall down. How many ` +
          `${thing} stay on it?`,
        steps: ({ thing }, first, second) => [
          `Before the fall it carries ${first} ${thing}.`,
          `What stays is ${second} ${thing}.`,
        ],
      }],
      test: [{
        question: ({ name, thing, a, b, c }) =>
          `${name} collected ${a} ${thing} in May and ${b} in June, but lost ${c} of them in July. What is ` +
          `left of the ${thing}?`,
        steps: (_, first, second) => [
          `By the end of June it was ${first}.`,
          `By the end of July it is ${second}.`,
        ],
      }],
    },
  },
  {
    numbers: (number) => ({ a: number(2, 9), b: number(2, 9), c: number(1, 9) }),
    work: ({ a, b, c }) => [[`${a} * ${b}`, a * b], [`${a * b} + ${c}`, a * b + c]],
    wordings: {
      train: [
        {
          question: ({ name, thing, a, b, c }) =>
            `${name} buys ${a} ${thing} for ${b} dollars each and has ${c} dollars left. How many dollars ` +
            `did ${name} have at first?`,
          steps: ({ thing }, first, second) => [
            `The ${thing} cost ${first} dollars.`,
            `At first there were ${second} dollars.`,
          ],
        },
        {
          question: ({ name, thing, a, b, c }) =>
            `${name} packs ${a} bags with ${b} ${thing} in each, and ${c} ${thing} do not fit in. How many ` +
            `${thing} are there?`,
          steps: ({ thing }, first, second) => [
            `The bags hold ${first} ${thing}.`,
            `With the others there are ${second} ${thing}.`,
          ],
        },
      ],
      validation: [{
        question: ({ name, thing, a, b, c }) =>
          `On each of ${a} tables ${name} lays ${b} ${thing}; ${c} more lie in the kitchen. How many ` +
          `${thing} is that in all?`,
        steps: (_, first, second) => [
          `On the tables lie ${first}.`,
          `In all that is ${second}.`,
        ],
      }],
      test: [{
        question: ({ name, thing, a, b, c }) =>
          `A garland of ${name}'s has ${a} rows of ${b} ${thing}, and ${c} hang at its end. Count the ` +
          `${thing}.`,
        steps: (_, first, second) => [
          `The rows have ${first}.`,
          `The whole garland has ${second}.`,
        ],
      }],
    },
  },
  {
    numbers: (number) => {
      const [each, friends, eaten] = [number(2, 9), number(2, 6), number(1, 9)];
      return { a: each * friends + eaten, b: eaten, c: friends };
    },
    work: ({ a, b, c }) => [[`${a} - ${b}`, a - b], [`${a - b} / ${c}`, (a - b) / c]],
    wordings: {
      train: [
        {
          question: ({ name, thing, a, b, c }) =>
            `${name} loses ${b} of ${a} ${thing} and shares the others equally among ${c} friends. How many ` +
            `${thing} does each friend get?`,
          steps: ({ thing }, first, second) => [
            `There are ${first} ${thing} left.`,
            `Each friend gets ${second} ${thing}.`,
          ],
        },
        {
          question: ({ name, thing, a, b, c }) =>
            `Of ${a} ${thing}, ${b} are broken. ${name} puts the good ones into ${c} boxes, the same number ` +
            `in each. How many ${thing} are in a box?`,
          steps: ({ thing }, first, second) => [
            `The good ones are ${first} ${thing}.`,
            `In a box are ${second} ${thing}.`,
          ],
        },
      ],
      validation: [{
        question: ({ name, thing, a, b, c }) =>
          `${name} keeps ${b} from a heap of ${a} ${thing}, and ${c} children divide the rest fairly. What ` +
          `is a child's share?`,
        steps: (_, first, second) => [
          `The rest is ${first}.`,
          `A share is ${second}.`,
        ],
      }],
      test: [{
        question: ({ name, thing, a, b, c }) =>
          `${a} ${thing} came by mail, and ${name} sent ${b} back. The remaining ones fill ${c} drawers ` +
          `evenly. How many ${thing} does a drawer hold?`,
        steps: (_, first, second) => [
          `Remaining: ${first}.`,
          `A drawer holds ${second}.`,
        ],
      }],
    },
  },
  {
    numbers: (number) => ({ a: number(1, 6), b: number(1, 6), c: number(2, 7) }),
    work: ({ a, b, c }) => [[`${a} + ${b}`, a + b], [`${c} * ${a + b}`, c * (a + b)]],
    wordings: {
      train: [
        {
          question: ({ name, a, b, c }) =>
            `${name} walks ${a} km every morning and ${b} km every evening. How many km is that in ${c} days?`,
          steps: ({ c }, first, second) => [
            `In a day it is ${first} km.`,
            `In ${c} days it is ${second} km.`,
          ],
        },
        {
          question: ({ name, thing, a, b, c }) =>
            `Every week ${name} sells ${a} ${thing} on Monday and ${b} on Friday. How many ${thing} does ` +
            `${name} sell in ${c} weeks?`,
          steps: ({ thing, c }, first, second) => [
            `In a week ${first} ${thing} are sold.`,
            `In ${c} weeks ${second} ${thing} are sold.`,
          ],
        },
      ],
      validation: [{
        question: ({ name, thing, a, b, c }) =>
          `A gift of ${name}'s holds ${a} red and ${b} blue ${thing}. How many ${thing} are needed for ${c} ` +
          `such gifts?`,
        steps: (_, first, second) => [
          `One gift takes ${first}.`,
          `Together the gifts take ${second}.`,
        ],
      }],
      test: [{
        question: ({ name, thing, a, b, c }) =>
          `Each crate carries ${a} large and ${b} small ${thing}. ${name} unloads ${c} crates; how many ` +
          `${thing} is that?`,
        steps: (_, first, second) => [
          `A crate carries ${first}.`,
          `Unloaded: ${second}.`,
        ],
      }],
    },
  },
];

/** Problems of each part. */
const sizes: Readonly<Record<Split, number>> = { train: 512, validation: 64, test: 64 };

function writePart(part: Split, stream: number): void {
  const random = new RandomStream(20261121, stream);
  const number = (from: number, to: number) => from + random.integer(to - from + 1);
  const pick = <Item>(items: readonly Item[]) => items[random.integer(items.length)];
  const rows = new Map<string, string>();
  for (let turn = 0; rows.size < sizes[part]; turn++) {
    const kind = kinds[turn % kinds.length];
    const { question, steps } = pick(kind.wordings[part]);
    const parts = { name: pick(people[part]), thing: pick(things[part]), ...kind.numbers(number) };
    const work = kind.work(parts);
    const [first, second] = work.map(([text, result]) => `${text} = ${result}`);
    const lines = [...steps(parts, first, second), `#### ${work[1][1]}`];
    const row = { question: question(parts), answer: lines.join("\n") };
    rows.set(row.question, JSON.stringify(row));
  }
  const file = join(import.meta.dirname ?? "", "word-problems", `${part}.jsonl`);
  Deno.writeTextFileSync(file, [...rows.values()].join("\n") + "\n");
}

writePart("train", 99);
writePart("validation", 100);
writePart("test", 101);
