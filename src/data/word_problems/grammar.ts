/**
 * A grammar of word problems: a theme's plot is a row of sentences, a wording says in which words each is told, and
 * numbers, people and things make a problem of it. The solution is one calculation a step, such as `12+7=19`.
 */

import { UserError } from "../../base/user_error.ts";
import { splitOf } from "../split.ts";
import { RandomStream } from "../../random/philox.ts";
import { type Kind, PEOPLE, type Theme, themes, THINGS } from "./themes.ts";

/** The parts of the problems. `newNumbers` is told in `train`'s wordings, `newWordings` in words that no other part has. */
export const PARTS = ["train", "validation", "newNumbers", "newWordings"] as const;
export type Part = (typeof PARTS)[number];

/** A question with people, things and numbers left open: its sentences, in order. */
export interface Wording {
  readonly theme: Theme;
  readonly plot: readonly Kind[];
  readonly sentences: readonly string[];
}

/** A question and its worked solution in GSM8K's format. */
export interface WordProblem {
  readonly question: string;
  readonly answer: string;
}

/** Wordings of a plot in each part, as far as there are so many; `newNumbers` has those of `train`. */
const WORDINGS_OF_A_PLOT = { train: 6, validation: 1, newWordings: 2 } as const;

/** The smallest count, for the plural. */
const FEWEST = 2;

/** What random numbers are for: which wordings there are, and the problems of each part. */
const STREAMS: Readonly<Record<Part | "wordings", number>> = {
  wordings: 98,
  train: 99,
  validation: 100,
  newNumbers: 101,
  newWordings: 102,
};

/** Random numbers as this file takes them. */
interface Random {
  /** A whole number, both ends included. */
  readonly number: (from: number, to: number) => number;
  readonly pick: <Item>(items: readonly Item[]) => Item;
}

function randomOf(stream: RandomStream): Random {
  return {
    number: (from, to) => from + stream.integer(to - from + 1),
    pick: (items) => items[stream.integer(items.length)],
  };
}

function shuffled<Item>(items: readonly Item[], { number }: Random): Item[] {
  const left = [...items];
  return items.map(() => left.splice(number(0, left.length - 1), 1)[0]);
}

/** The wordings of each part. They do not depend on the seed of the problems. */
export function wordings(): Readonly<Record<Part, readonly Wording[]>> {
  const random = randomOf(new RandomStream(20261121, STREAMS.wordings));
  const found = {
    train: [] as Wording[],
    validation: [] as Wording[],
    newWordings: [] as Wording[],
  };
  for (const theme of themes) {
    for (const plot of theme.plots) {
      const { train, validation, newWordings } = WORDINGS_OF_A_PLOT;
      const seen = tell(theme, plot, "seen", train + validation, random);
      const kept = Math.min(validation, seen.length - 1);
      found.validation.push(...seen.slice(0, kept));
      found.train.push(...seen.slice(kept));
      found.newWordings.push(...tell(theme, plot, "unseen", newWordings, random));
    }
  }
  const { train, validation, newWordings } = found;
  // In no order, so that the first problems of a file tell of everything.
  return {
    train: shuffled(train, random),
    validation: shuffled(validation, random),
    newNumbers: shuffled(train, random),
    newWordings: shuffled(newWordings, random),
  };
}

/** At most so many wordings of a plot, all different. */
function tell(
  theme: Theme,
  plot: readonly Kind[],
  words: "seen" | "unseen",
  most: number,
  { pick }: Random,
): Wording[] {
  const choices = plot.map((kind) => {
    const told = theme.sentences[kind]?.[words] ?? [];
    if (told.length === 0) throw new Error(`${theme.name}: no ${words} sentence for ${kind}`);
    return told;
  });
  const possible = choices.reduce((product, told) => product * told.length, 1);
  const found = new Map<string, Wording>();
  while (found.size < Math.min(most, possible)) {
    const sentences = choices.map((told) => pick(told));
    // A story that says the same thing twice in the same words reads as a slip of the pen.
    const repeats = new Set(sentences).size < sentences.length;
    if (!repeats || possible <= most) found.set(sentences.join(" "), { theme, plot, sentences });
  }
  return [...found.values()];
}

/** A problem with the count so far, while it is being told. */
interface Told {
  readonly question: string[];
  readonly steps: string[];
  readonly counts: number[];
  readonly people: string[];
}

type Operator = "+" | "-" | "*" | "/";
const RESULTS: Readonly<Record<Operator, (left: number, right: number) => number>> = {
  "+": (left, right) => left + right,
  "-": (left, right) => left - right,
  "*": (left, right) => left * right,
  "/": (left, right) => left / right,
};

/** Writes a step and gives its result. */
function calculate(told: Told, left: number, operator: Operator, right: number): number {
  const result = RESULTS[operator](left, right);
  told.steps.push(`${left}${operator}${right}=${result}`);
  return result;
}

/** Whether so many things can be told of where `largest` is the most. */
const isCount = (value: number, largest: number) =>
  Number.isInteger(value) && value >= FEWEST && value <= largest;

/** The usual smallest and largest {n}. */
const RANGES: Readonly<Partial<Record<Kind, readonly [number, number]>>> = {
  start: [6, 40],
  gain: [2, 20],
  lose: [2, 20],
  times: [2, 5],
};

/**
 * The numbers of a sentence and the count after it. Null where none will do: a count of less than two or more than the
 * most, or one that cannot be shared.
 */
function advance(
  kind: Kind,
  told: Told,
  theme: Theme,
  { number, pick }: Random,
  largest: number,
): Record<string, number> | null {
  const count = told.counts.at(-1) ?? 0;
  const [from, to] = theme.ranges?.[kind] ?? RANGES[kind] ?? [2, 9];
  const n = number(from, to);
  const step = (operator: Operator, right: number, left = count) => {
    told.counts.push(calculate(told, left, operator, right));
    return isCount(told.counts.at(-1) ?? 0, largest);
  };
  switch (kind) {
    case "start":
      told.counts.push(n);
      return isCount(n, largest) ? { n } : null;
    case "gain":
      return step("+", n) ? { n } : null;
    case "lose":
      return step("-", n) ? { n } : null;
    case "times":
      return step("*", n) ? { n } : null;
    case "groups":
    case "gainGroups": {
      const [a, b] = [number(2, 9), number(2, 9)];
      const product = calculate(told, a, "*", b);
      if (!isCount(product, largest)) return null;
      if (kind === "groups") told.counts.push(product);
      else if (!step("+", product)) return null;
      return { a, b };
    }
    case "share": {
      const divisors = [2, 3, 4, 5, 6, 7, 8, 9].filter((by) => isCount(count / by, largest));
      if (divisors.length === 0) return null;
      const n = pick(divisors);
      return step("/", n) ? { n } : null;
    }
    case "change": {
      const n = 10 * (Math.ceil((count + FEWEST) / 10) + number(0, 1));
      return isCount(n, largest) && step("-", count, n) ? { n } : null;
    }
    case "together":
      return step("+", count, told.counts.at(-2) ?? 0) ? {} : null;
    case "ask":
      return {};
  }
}

/** A problem in these words, or null where the numbers that were drawn will not do. */
function tryProblem(
  { theme, plot, sentences }: Wording,
  random: Random,
  largest: number,
): (WordProblem & { work: string }) | null {
  const people = shuffled(PEOPLE, random);
  const thing = random.pick(THINGS);
  const told: Told = { question: [], steps: [], counts: [], people };
  let person = 0;
  for (const [i, kind] of plot.entries()) {
    const numbers = advance(kind, told, theme, random, largest);
    if (numbers === null) return null;
    const isNewPerson = theme.compares && ["gain", "lose", "times"].includes(kind);
    if (isNewPerson) person++;
    const open = { name: people[person], from: people[Math.max(0, person - 1)], thing, ...numbers };
    told.question.push(filled(sentences[i], open));
  }
  const { question, steps, counts } = told;
  const work = steps.join("\n");
  return { question: question.join(" "), answer: `${work}\n#### ${counts.at(-1)}`, work };
}

function filled(sentence: string, open: Readonly<Record<string, string | number>>): string {
  return sentence.replace(/\{(\w+)\}/g, (_, key: string) => {
    if (open[key] === undefined) throw new Error(`"${sentence}" leaves ${key} open`);
    return String(open[key]);
  });
}

/** What is worked out in the head. */
export const LARGEST_COUNT = 300;

/** Draws for one problem after which its wording is taken to have none left. */
const MOST_DRAWS = 5_000;

/** Where so many wordings, the first of all, have not one problem, the others are not tried. */
const HOPELESS_WORDINGS = 10;

/**
 * So many problems of a part, every wording as often as any other while it has some left, no question twice. A
 * calculation, that is all steps of a solution with their numbers, is in one part alone: it is trained on, chosen by, or
 * reported.
 *
 * @param largest the most that there is of anything
 * @returns in the end how many wordings have none left
 * @throws UserError when no wording has another problem
 */
export function* wordProblems(
  part: Part,
  count: number,
  seed: number,
  largest = LARGEST_COUNT,
): Generator<WordProblem, number> {
  const all = wordings()[part];
  const own = part === "newNumbers" || part === "newWordings" ? "test" : part;
  const questions = new Set<string>();
  /** Another problem in these words, or null where all are told. */
  const another = (wording: Wording, random: Random): WordProblem | null => {
    for (let draw = 0; draw < MOST_DRAWS; draw++) {
      const problem = tryProblem(wording, random, largest);
      if (problem === null || splitOf(problem.work) !== own) continue;
      if (questions.has(problem.question)) continue;
      questions.add(problem.question);
      return { question: problem.question, answer: problem.answer };
    }
    return null;
  };
  const exhausted = new Set<Wording>();
  for (let turn = 0, made = 0; made < count; turn++) {
    const wording = all[turn % all.length];
    if (exhausted.has(wording)) continue;
    const problem = another(wording, randomOf(new RandomStream(seed, STREAMS[part], 0, turn)));
    if (problem !== null) {
      made++;
      yield problem;
      continue;
    }
    exhausted.add(wording);
    if (exhausted.size < (made === 0 ? HOPELESS_WORDINGS : all.length)) continue;
    throw new UserError(
      `Only ${made} of ${count} problems can be told where the most is ${largest}: ` +
        "take a smaller --train or a larger --largest.",
    );
  }
  return exhausted.size;
}
