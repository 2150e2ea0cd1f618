/**
 * Writes word-problems.jsonl: short arithmetic problems with worked solutions, in GSM8K's format, to try the
 * engine on without fetching a data set.
 *
 *   deno run -A configs/problems/make_word_problems.ts
 */

import { join } from "node:path";
import { RandomStream } from "../../src/random/philox.ts";

const names = ["Ana", "Ben", "Chen", "Dora", "Emil", "Fatima", "Goran", "Hana", "Ivo", "Jun"];
const things = ["apples", "books", "pens", "coins", "stamps", "marbles", "shells", "cards"];

const random = new RandomStream(20261121, 99);
const number = (from: number, to: number) => from + random.integer(to - from + 1);
const pick = (items: readonly string[]) => items[random.integer(items.length)];

interface Worked {
  readonly question: string;
  readonly lines: readonly string[];
  readonly result: number;
}

const kinds: readonly (() => Worked)[] = [
  function givesAway() {
    const [name, thing] = [pick(names), pick(things)];
    const [has, gets, gives] = [number(5, 30), number(2, 20), number(1, 6)];
    return {
      question:
        `${name} has ${has} ${thing}, gets ${gets} more and gives away ${gives}. How many ` +
        `${thing} does ${name} have now?`,
      lines: [
        `With the new ones there are ${has} + ${gets} = ${has + gets} ${thing}.`,
        `After giving some away there are ${has + gets} - ${gives} = ${
          has + gets - gives
        } ${thing}.`,
      ],
      result: has + gets - gives,
    };
  },
  function buys() {
    const [name, thing] = [pick(names), pick(things)];
    const [count, price, more] = [number(2, 9), number(2, 9), number(1, 9)];
    const cost = count * price;
    return {
      question:
        `${name} buys ${count} ${thing} for ${price} dollars each and has ${more} dollars left. ` +
        `How many dollars did ${name} have at first?`,
      lines: [
        `The ${thing} cost ${count} * ${price} = ${cost} dollars.`,
        `At first there were ${cost} + ${more} = ${cost + more} dollars.`,
      ],
      result: cost + more,
    };
  },
  function shares() {
    const [name, thing] = [pick(names), pick(things)];
    const [each, friends, eaten] = [number(2, 9), number(2, 6), number(1, 9)];
    const shared = each * friends;
    return {
      question:
        `${name} loses ${eaten} of ${shared + eaten} ${thing} and shares the others equally ` +
        `among ${friends} friends. How many ${thing} does each friend get?`,
      lines: [
        `There are ${shared + eaten} - ${eaten} = ${shared} ${thing} left.`,
        `Each friend gets ${shared} / ${friends} = ${each} ${thing}.`,
      ],
      result: each,
    };
  },
  function walks() {
    const name = pick(names);
    const [days, morning, evening] = [number(2, 7), number(1, 6), number(1, 6)];
    const daily = morning + evening;
    return {
      question:
        `${name} walks ${morning} km every morning and ${evening} km every evening. How many km ` +
        `is that in ${days} days?`,
      lines: [
        `In a day it is ${morning} + ${evening} = ${daily} km.`,
        `In ${days} days it is ${days} * ${daily} = ${days * daily} km.`,
      ],
      result: days * daily,
    };
  },
];

const seen = new Set<string>();
const rows: string[] = [];
while (rows.length < 640) {
  const { question, lines, result } = kinds[rows.length % kinds.length]();
  if (seen.has(question)) continue;
  seen.add(question);
  rows.push(JSON.stringify({ question, answer: [...lines, `#### ${result}`].join("\n") }));
}
const file = join(import.meta.dirname ?? "", "word-problems.jsonl");
Deno.writeTextFileSync(file, rows.join("\n") + "\n");
