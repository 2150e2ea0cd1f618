/**
 * Chains of counts: who has how many follows from who has how many, in sentences whose order tells nothing.
 *
 *   question  cid has 2 times as many as bob. ann has 7 pens. bob has 3 more than ann. how many has cid
 *   solution  <think><step>bob:7+3=10</step><step>cid:10*2=20</step></think><answer>\boxed{20}</answer>
 *
 * The prompt's template sets the question mark. A question may tell of one more person, who does not count: one
 * with pens to begin from, or one counted from somebody on the chain.
 */
import { chooseInteger, chooseItem, chooseStepCount } from "./choose.ts";
import { splitOf } from "./split.ts";
import { labelStepsByClaim } from "./step_comparison.ts";
import type { CorruptedSolution, Problem, Task, Uniform } from "./task.ts";

const NAMES = [
  ...["ann", "bob", "cid", "dan", "eve", "fay", "gus", "hal", "ida", "jim", "kim", "leo"],
] as const;

type Operator = "+" | "-" | "*";
const OPERATORS: readonly Operator[] = ["+", "-", "*"];

/** What stands between a relation's number and the person it counts from. */
const RELATIONS: Readonly<Record<Operator, string>> = {
  "+": " more than ",
  "-": " fewer than ",
  "*": " times as many as ",
};

const HAS = " has ", PENS = " pens. ", END = ". ", ASKS = "how many has ";
/** Stands between what the critique found and what the step claims. */
const BESIDE = "|";

/** The steps of the longest chain: one person more is on it, and one may be beside it. */
export const MOST_CHAIN_STEPS = NAMES.length - 2;

/** How often a question tells of a person who does not count. */
const DISTRACTOR_SHARE = 0.3;

/** Numbers of pens: nobody has fewer or more than these. */
const FEWEST = 1, MOST = 99;

/** A link of the chain: a person has as many as the one before, changed. */
interface Link {
  readonly person: string;
  readonly operator: Operator;
  readonly operand: number;
}

/** The chains task; its difficulty is the number of relations from what is told to what is asked. */
export const chainsTask: Task = {
  name: "chains",
  defaultDifficulty: { minimumSteps: 2, maximumSteps: 8 },
  words: [...NAMES, HAS, ...Object.values(RELATIONS), PENS, END, ASKS, BESIDE],

  makeProblem(uniform, difficulty) {
    const count = chooseStepCount(uniform, difficulty);
    if (count > MOST_CHAIN_STEPS) {
      throw new Error(`difficulty: found ${count} steps, expected at most ${MOST_CHAIN_STEPS}`);
    }
    const [first, ...persons] = shuffled(uniform, NAMES);
    const start = chooseStart(uniform);
    const links: Link[] = [];
    let value = start;
    for (const person of persons.slice(0, count)) {
      const link = { person, ...chooseOperation(uniform, value, links.at(-1)?.operator) };
      links.push(link);
      value = apply(value, link);
    }
    const { steps, counts, answer } = work(start, links);
    const onChain = [first, ...links.map(({ person }) => person)];
    const sentences = [
      tell(first, start),
      ...links.map((link, i) => relate(link, onChain[i])),
    ];
    if (uniform() < DISTRACTOR_SHARE) {
      const person = persons[count], from = chooseInteger(uniform, 0, count);
      const other = { person, ...chooseOperation(uniform, counts[from]) };
      sentences.push(
        uniform() < 0.5 ? tell(person, chooseStart(uniform)) : relate(other, onChain[from]),
      );
    }
    const question = `${shuffled(uniform, sentences).join("")}${ASKS}${onChain[count]}`;
    return { question, answer, goldSteps: steps };
  },

  splitOf: ({ goldSteps }) => splitOf(beginning(goldSteps)),

  isCorrectAnswer: (problem, answer) => answer?.trim() === problem.answer,

  labelSteps: (problem, steps) => labelStepsByClaim(problem, steps, splitStep),

  corruptSolution,

  writeCritique(problem, solution) {
    const labels = chainsTask.labelSteps(problem, solution.steps);
    const steps = solution.steps.map((step, index) => {
      const own = problem.goldSteps.at(index) ?? `${ABSENT}:${ABSENT}`;
      const claim = splitStep(step)?.claim ?? UNREADABLE;
      return { text: `${own}${BESIDE}${claim}`, isCorrect: labels[index] };
    });
    return { steps, verdict: chainsTask.isCorrectAnswer(problem, solution.answer) };
  },

  readCritiqueStep(text) {
    const [own, claim, ...more] = text.replace(/ *\\boxed\{\w*\}\s*$/, "").split(BESIDE);
    if (claim === undefined || more.length > 0) return null;
    return { own: splitStep(own)?.claim ?? own.trim(), claim: claim.trim() };
  },
};

/** Stands where the problem has no such step. */
const ABSENT = "-";
/** Stands for the claim of a step that makes none. */
const UNREADABLE = "?";

/**
 * How a problem begins, by its first number and its first two operations: this decides its part, so that no
 * problem of one part is worked as one of another is, whoever has the pens and in whatever order that is told.
 */
function beginning(goldSteps: readonly string[]): string {
  return goldSteps.slice(0, 2).map((step) => splitStep(step)?.sum ?? step).join();
}

/** A step as the calculation and what it claims: `bob:7+3=10` is `7+3` and `bob:10`. */
function splitStep(step: string): { sum: string; work: string; claim: string } | null {
  const match = /^([a-z]+):(\d+[-+*]\d+)=(-?\d+)$/.exec(step);
  if (!match) return null;
  const [, person, sum, result] = match;
  return { sum, work: `${person}:${sum}=`, claim: `${person}:${result}` };
}

function shuffled<Item>(uniform: Uniform, items: readonly Item[]): Item[] {
  const left = [...items];
  return items.map(() => left.splice(chooseInteger(uniform, 0, left.length - 1), 1)[0]);
}

function apply(value: number, { operator, operand }: Omit<Link, "person">): number {
  if (operator === "+") return value + operand;
  return operator === "-" ? value - operand : value * operand;
}

const isCount = (value: number) => value >= FEWEST && value <= MOST;

/**
 * Each operator that keeps the count in its range is as likely, and then each number. Sums after sums and products
 * after products come only where nothing else does: taken in another order they give the same answer, which would
 * then not tell that the steps are wrong.
 */
function chooseOperation(
  uniform: Uniform,
  value: number,
  before?: Operator,
): Omit<Link, "person"> {
  const possible = OPERATORS.map((operator) => {
    const operands = operator === "*" ? [2, 3, 4] : [1, 2, 3, 4, 5, 6, 7, 8, 9];
    return operands.map((operand) => ({ operator, operand }))
      .filter((operation) => isCount(apply(value, operation)));
  }).filter((operations) => operations.length > 0);
  const commutes = (operator: Operator) => (operator === "*") === (before === "*");
  const others = before === undefined
    ? possible
    : possible.filter(([{ operator }]) => !commutes(operator));
  return chooseItem(uniform, chooseItem(uniform, others.length > 0 ? others : possible));
}

const chooseStart = (uniform: Uniform) => chooseInteger(uniform, 2, 12);

function tell(person: string, count: number): string {
  return `${person}${HAS}${count}${PENS}`;
}

function relate({ person, operator, operand }: Link, from: string): string {
  return `${person}${HAS}${operand}${RELATIONS[operator]}${from}${END}`;
}

/** What goes wrong at a step: the number it starts from, its operation, or by how much its result is off. */
interface Slip {
  readonly from?: number;
  readonly link?: Link;
  readonly off?: number;
}

interface Worked {
  readonly steps: string[];
  /** The number each step starts from, and the last result. */
  readonly counts: number[];
  readonly answer: string;
}

/** Works along the links with the slips at their places, each carried on; the answer is the last result. */
function work(start: number, links: readonly Link[], slips = new Map<number, Slip>()): Worked {
  const counts = [start];
  const steps = links.map((right, position) => {
    const { from = counts[position], link = right, off = 0 } = slips.get(position) ?? {};
    const result = apply(from, link) + off;
    counts.push(result);
    return `${link.person}:${from}${link.operator}${link.operand}=${result}`;
  });
  return { steps, counts, answer: String(counts[links.length]) };
}

/** A problem as its chain, and the person who does not count. */
interface Chain {
  readonly start: number;
  readonly links: readonly Link[];
  /** The numbers on the chain, from the first person's to the answer. */
  readonly counts: readonly number[];
  /** Everybody that the question tells of. */
  readonly persons: readonly string[];
  /** Every number that a relation names. */
  readonly operands: readonly number[];
  /** The number of the person beside the chain who has one to begin from. */
  readonly otherStart: number | null;
  /** The person beside the chain who is counted from its k-th person. */
  readonly branch: { readonly link: Link; readonly after: number } | null;
}

const OPERATOR_OF: Readonly<Record<string, Operator>> = Object.fromEntries(
  OPERATORS.map((operator) => [RELATIONS[operator].trim(), operator]),
);
const SENTENCE =
  /([a-z]+) has (\d+) (?:pens|(more than|fewer than|times as many as) ([a-z]+))(?=\.)/g;

function readChain({ question, goldSteps }: Problem): Chain {
  const sentences = [...question.matchAll(SENTENCE)].map(([, person, number, words, from]) => ({
    person,
    number: Number(number),
    operator: words ? OPERATOR_OF[words] : null,
    from: from ?? null,
  }));
  const links = goldSteps.map((step): Link => {
    const [, person, operator, operand] = /^([a-z]+):\d+([-+*])(\d+)=/.exec(step) ?? [];
    return { person, operator: operator as Operator, operand: Number(operand) };
  });
  const first = sentences.find(({ person }) => person === links[0].person)?.from ?? "";
  const persons = [first, ...links.map(({ person }) => person)];
  const start = Number(/\d+/.exec(goldSteps[0])?.[0]);
  const beside = sentences.find(({ person }) => !persons.includes(person));
  const other = beside && beside.operator !== null && {
    link: { person: beside.person, operator: beside.operator, operand: beside.number },
    after: persons.indexOf(beside.from ?? ""),
  };
  return {
    start,
    links,
    counts: work(start, links).counts,
    persons: sentences.map(({ person }) => person),
    operands: sentences.filter(({ operator }) => operator !== null).map(({ number }) => number),
    otherStart: beside && beside.operator === null ? beside.number : null,
    branch: other || null,
  };
}

/** A slip at a step of the chain, or null where this kind cannot happen. */
type MakeSlip = (chain: Chain, position: number, uniform: Uniform) => Slip | null;

/** One of those that change the step's result, given that all before is right. */
function chooseSlip(chain: Chain, position: number, uniform: Uniform, slips: Slip[]): Slip | null {
  const link = chain.links[position], from = chain.counts[position];
  const wrong = slips.filter((slip) =>
    apply(slip.from ?? from, slip.link ?? link) + (slip.off ?? 0) !== apply(from, link)
  );
  return wrong.length === 0 ? null : chooseItem(uniform, wrong);
}

/** Mistakes that leave the number of steps as it is, so that several steps may have one. */
const SLIPS: Readonly<Record<string, MakeSlip>> = {
  miscalculated: (chain, position, uniform) =>
    chooseSlip(chain, position, uniform, [1, -1, 10, -10].map((off) => ({ off }))),
  wrongOperator: (chain, position, uniform) =>
    chooseSlip(
      chain,
      position,
      uniform,
      OPERATORS.map((operator) => ({ link: { ...chain.links[position], operator } })),
    ),
  wrongOperand: (chain, position, uniform) => {
    const { operand } = chain.links[position];
    const read = [...chain.operands, operand + 1, Math.max(1, operand - 1)];
    const slips = read.map((other) => ({ link: { ...chain.links[position], operand: other } }));
    return chooseSlip(chain, position, uniform, slips);
  },
  wrongReference: (chain, position, uniform) => {
    const read = chain.counts.slice(0, position).concat(chain.otherStart ?? []);
    return chooseSlip(chain, position, uniform, read.map((from) => ({ from })));
  },
};

/** How likely each further step has a slip too, once one has. */
const FURTHER_SLIP = 0.15;

/** The chain with one kind of mistake at a random place, or null where the kind cannot happen there. */
function mistaken(chain: Chain, kind: string, uniform: Uniform): Worked | null {
  const { start, links, otherStart, branch } = chain;
  const position = chooseInteger(uniform, 0, links.length - 1);
  if (kind === "skippedStep") {
    // Skipping the only step would leave no step to judge.
    return links.length === 1 ? null : work(start, links.toSpliced(position, 1));
  }
  if (kind === "countedDistractor") {
    if (branch) return work(start, links.toSpliced(branch.after, 0, branch.link));
    return otherStart === null || otherStart === start ? null : work(otherStart, links);
  }
  if (kind === "lostTrack") return guessFrom(chain, position, uniform);
  const slip = SLIPS[kind](chain, position, uniform);
  if (slip === null) return null;
  const slips = new Map([[position, slip]]);
  for (const other of links.keys()) {
    if (other === position || uniform() >= FURTHER_SLIP) continue;
    const further = SLIPS[chooseItem(uniform, Object.keys(SLIPS))](chain, other, uniform);
    if (further) slips.set(other, further);
  }
  return work(start, links, slips);
}

/**
 * The chain lost at a step: from there on each step is somebody of the question's and a relation put together by
 * chance, each worked rightly. So do generators err that have hardly begun, and who judges them must work the steps
 * out: what is claimed is no help.
 */
function guessFrom(chain: Chain, position: number, uniform: Uniform): Worked | null {
  const { start, links, counts, persons, operands } = chain;
  const guesses = links.slice(position).map((): Link => ({
    person: chooseItem(uniform, persons),
    operator: chooseItem(uniform, OPERATORS),
    operand: chooseItem(uniform, operands),
  }));
  const [guess] = guesses, right = links[position];
  const same = guess.person === right.person &&
    apply(counts[position], guess) === apply(counts[position], right);
  return same ? null : work(start, [...links.slice(0, position), ...guesses]);
}

/** Half of all mistakes lose track; the others are as likely as one another. */
const MISTAKES = [...Object.keys(SLIPS), "skippedStep", "countedDistractor", "answerMismatch"];
const LOST_SHARE = 0.5;

function corruptSolution(problem: Problem, uniform: Uniform): CorruptedSolution {
  const chain = readChain(problem);
  for (let attempt = 0; attempt < 30; attempt++) {
    const kind = uniform() < LOST_SHARE ? "lostTrack" : chooseItem(uniform, MISTAKES);
    if (kind === "answerMismatch") break;
    const worked = mistaken(chain, kind, uniform);
    if (worked?.counts.every((count) => count >= 0 && count <= MOST)) {
      return { kind, steps: worked.steps, answer: worked.answer };
    }
  }
  const right = Number(problem.answer);
  const others = [...chain.counts, right + 1, right - 1].filter((count) => count !== right);
  const answer = String(chooseItem(uniform, others));
  return { kind: "answerMismatch", steps: [...problem.goldSteps], answer };
}
