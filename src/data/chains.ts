/**
 * Chains of counts: who has how many follows from how many the one before has.
 *
 *   question  ann has 7 pens. ann's pal bob has 3 more. bob's pal cid has 2 times as many. how many has cid
 *   solution  <think><step>bob:7+3=10</step><step>cid:10*2=20</step></think><answer>\boxed{20}</answer>
 *
 * The prompt's template sets the question mark. Asked for, the sentences stand in any order, and some tell of people
 * on whom the answer does not depend.
 */
import { chooseInteger, chooseItem, chooseStepCount } from "./choose.ts";
import { splitOf } from "./split.ts";
import { compareStepByStep, labelStepsByClaim, readOwnResult } from "./step_comparison.ts";
import type { CorruptedSolution, Problem, Task, Uniform } from "./task.ts";

/** Who has pens. */
export const CHAIN_NAMES = ["ann", "bob", "cid", "dan", "eve", "fay", "gus", "hal"] as const;

type Operator = "+" | "-" | "*";

/** What may be done to a count: the numbers of each operator. */
const OPERANDS: Readonly<Record<Operator, readonly number[]>> = {
  "+": [1, 2, 3, 4, 5, 6, 7, 8, 9],
  "-": [1, 2, 3, 4, 5, 6, 7, 8, 9],
  "*": [2, 3],
};
const OPERATORS: readonly Operator[] = ["+", "-", "*"];

/** What stands after a relation's number. */
const RELATIONS: Readonly<Record<Operator, string>> = {
  "+": " more. ",
  "-": " fewer. ",
  "*": " times as many. ",
};

const HAS = " has ", PENS = " pens. ", ASKS = "how many has ";
/** A person as somebody who is counted from: another token than as somebody who has something. */
const pal = (person: string) => `${person}'s pal `;
/** Stands between what the critique found and what the step claims. */
const BESIDE = "|";
const AGREES = " agrees", DIFFERS = " differs";
/**
 * What is found and the beginning of the judgment are one token, so that the judgment is the next thing after it. A
 * model as small as these, which has to look back for it, takes thousands of true labels to begin to.
 */
const JUDGED = [AGREES, DIFFERS].map((found) => `${found} \\boxed{`);

/** The steps of the longest chain: one person more is on it. Who is beside the point takes a step's place. */
export const MOST_CHAIN_STEPS = CHAIN_NAMES.length - 1;

/** Numbers of pens: nobody has fewer or more than these. */
const FEWEST = 1, MOST = 20;
/** Numbers of two digits, each one token, so that a result is one. */
const TENS = Array.from({ length: MOST - 9 }, (_, i) => String(10 + i));

interface Operation {
  readonly operator: Operator;
  readonly operand: number;
}

/** A link of the chain: a person has as many as the one before, changed. */
interface Link extends Operation {
  readonly person: string;
}

/** The chains task; its difficulty is the number of relations from what is told to what is asked. */
export const chainsTask: Task = {
  name: "chains",
  defaultDifficulty: { minimumSteps: 2, maximumSteps: 4 },
  words: [
    ...CHAIN_NAMES,
    ...CHAIN_NAMES.map(pal),
    HAS,
    ...Object.values(RELATIONS),
    PENS,
    ASKS,
    BESIDE,
    ...JUDGED,
    ...TENS,
  ],

  makeProblem(uniform, difficulty) {
    const { shuffled: isShuffled = false, distractors = 0 } = difficulty;
    const count = chooseStepCount(uniform, difficulty);
    if (count + distractors > MOST_CHAIN_STEPS) {
      throw new Error(
        `difficulty: found ${count} steps and ${distractors} distractors, expected at most ${MOST_CHAIN_STEPS} together`,
      );
    }
    const persons = shuffled(uniform, CHAIN_NAMES);
    const { start, operations } = chooseChain(uniform, count);
    const links = operations.map((operation, i): Link => ({
      person: persons[i + 1],
      ...operation,
    }));
    const { steps, counts, answer } = work(start, links);
    const sentences = [
      `${persons[0]}${HAS}${start}${PENS}`,
      ...links.map((link, i) => sentence(persons[i], link)),
    ];
    for (const person of persons.slice(count + 1, count + 1 + distractors)) {
      const anchor = chooseInteger(uniform, 0, count);
      const beside = sentence(persons[anchor], {
        person,
        ...chooseOperation(uniform, counts[anchor]),
      });
      const first = sentences.findIndex((told) => told.includes(`${persons[anchor]}${HAS}`)) + 1;
      sentences.splice(chooseInteger(uniform, first, sentences.length), 0, beside);
    }
    const told = isShuffled ? shuffled(uniform, sentences) : sentences;
    return { question: `${told.join("")}${ASKS}${persons[count]}`, answer, goldSteps: steps };
  },

  // By people and numbers together. Beginnings by their numbers are few: where one order of some numbers is in
  // another part, a model that learns the orders of its own by heart errs at each problem held out.
  splitOf: ({ goldSteps }) => splitOf(goldSteps.join()),

  isCorrectAnswer: (problem, answer) => answer?.trim() === problem.answer,

  labelSteps: (problem, steps) => labelStepsByClaim(problem, steps, splitStep),

  corruptSolution,

  writeCritique: (problem, solution) =>
    compareStepByStep(
      problem,
      solution,
      chainsTask.isCorrectAnswer(problem, solution.answer),
      splitStep,
      BESIDE,
      agreement,
    ),

  readOwnResult: (critiqueStep, step) => readOwnResult(critiqueStep, step, splitStep, BESIDE),
};

/** Who is counted from, and how many the link's person has. */
const sentence = (from: string, { person, operator, operand }: Link) =>
  `${pal(from)}${person}${HAS}${operand}${RELATIONS[operator]}`;

/** A step as the calculation and what it claims: `bob:7+3=10` is `bob:7+3=` and `10`. */
function splitStep(step: string): { work: string; claim: string } | null {
  const match = /^([a-z]+:\d+[-+*]\d+=)(-?\d+)$/.exec(step);
  return match && { work: match[1], claim: match[2] };
}

/**
 * Whether the claim is what the critique has found itself, said before it judges. What that means for the judgment no
 * warm start needs to tell: it is for outcomes to teach.
 */
const agreement = (own: string, claim: string) => own === claim ? AGREES : DIFFERS;

function shuffled<Item>(uniform: Uniform, items: readonly Item[]): Item[] {
  const left = [...items];
  return items.map(() => left.splice(chooseInteger(uniform, 0, left.length - 1), 1)[0]);
}

function apply(value: number, { operator, operand }: Operation): number {
  if (operator === "+") return value + operand;
  return operator === "-" ? value - operand : value * operand;
}

const isCount = (value: number) => value >= FEWEST && value <= MOST;

/**
 * A first number and as many operations. Sums after sums and products after products come only where nothing else
 * was found: taken in another order they give the same answer, which would then not tell that the steps are wrong.
 */
function chooseChain(uniform: Uniform, count: number): { start: number; operations: Operation[] } {
  for (let attempt = 1;; attempt++) {
    const start = chooseInteger(uniform, 1, 10);
    const operations: Operation[] = [];
    let value = start;
    while (operations.length < count) {
      const operation = chooseOperation(uniform, value, operations.at(-1));
      operations.push(operation);
      value = apply(value, operation);
    }
    const commutes = operations.some((operation, i) =>
      i > 0 && alike(operation, operations[i - 1])
    );
    if (!commutes || attempt === CHAIN_ATTEMPTS) return { start, operations };
  }
}

const CHAIN_ATTEMPTS = 20;

/** Whether the two may change places. */
const alike = (one: Operation, other: Operation) =>
  (one.operator === "*") === (other.operator === "*");

/** Each operator that keeps the count in its range is as likely, and then each number; see `chooseChain`. */
function chooseOperation(uniform: Uniform, value: number, before?: Operation): Operation {
  const possible = OPERATORS.map((operator) =>
    OPERANDS[operator].map((operand) => ({ operator, operand }))
      .filter((operation) => isCount(apply(value, operation)))
  ).filter((operations) => operations.length > 0);
  const others = possible.filter(([operation]) => !before || !alike(operation, before));
  return chooseItem(uniform, chooseItem(uniform, others.length > 0 ? others : possible));
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

/** A problem as its chain. */
interface Chain {
  readonly start: number;
  readonly links: readonly Link[];
  /** The numbers on the chain, from the first person's to the answer. */
  readonly counts: readonly number[];
}

function readChain({ goldSteps }: Problem): Chain {
  const links = goldSteps.map((step): Link => {
    const [, person, operator, operand] = /^([a-z]+):\d+([-+*])(\d+)=/.exec(step) ?? [];
    return { person, operator: operator as Operator, operand: Number(operand) };
  });
  const start = Number(/\d+/.exec(goldSteps[0])?.[0]);
  return { start, links, counts: work(start, links).counts };
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
    chooseSlip(chain, position, uniform, [1, -1, 2, -2, 3, -3].map((off) => ({ off }))),
  wrongOperator: (chain, position, uniform) =>
    chooseSlip(
      chain,
      position,
      uniform,
      OPERATORS.map((operator) => ({ link: { ...chain.links[position], operator } })),
    ),
  wrongOperand: (chain, position, uniform) => {
    const { operand } = chain.links[position];
    const read = [
      ...chain.links.map((link) => link.operand),
      operand + 1,
      Math.max(1, operand - 1),
    ];
    const slips = read.map((other) => ({ link: { ...chain.links[position], operand: other } }));
    return chooseSlip(chain, position, uniform, slips);
  },
  wrongReference: (chain, position, uniform) => {
    const read = chain.counts.slice(0, position);
    return chooseSlip(chain, position, uniform, read.map((from) => ({ from })));
  },
};

/** How likely each further step has a slip too, once one has. */
const FURTHER_SLIP = 0.3;

/** The chain with one kind of mistake at a random place, or null where the kind cannot happen there. */
function mistaken(chain: Chain, kind: string, uniform: Uniform): Worked | null {
  const { start, links, counts } = chain;
  const position = chooseInteger(uniform, 0, links.length - 1);
  if (kind === "skippedStep") {
    // Skipping the only step would leave no step to judge.
    return links.length === 1 ? null : work(start, links.toSpliced(position, 1));
  }
  if (kind === "extraStep") {
    return work(start, links.toSpliced(position, 0, guess(links, counts[position], uniform)));
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

/** Somebody of the chain and an operation put together by chance. */
function guess(links: readonly Link[], value: number, uniform: Uniform): Link {
  return { person: chooseItem(uniform, links).person, ...chooseOperation(uniform, value) };
}

/**
 * The chain lost at a step: from there on each step is a guess, worked rightly. So do generators err that have hardly
 * begun, and who judges them must work the steps out: what is claimed is no help.
 */
function guessFrom(chain: Chain, position: number, uniform: Uniform): Worked | null {
  const { start, links, counts } = chain;
  let value = counts[position];
  const guesses = links.slice(position).map((): Link => {
    const link = guess(links, value, uniform);
    value = apply(value, link);
    return link;
  });
  if (apply(counts[position], guesses[0]) === counts[position + 1]) return null;
  return work(start, [...links.slice(0, position), ...guesses]);
}

/** Half of all mistakes lose track; the others are as likely as one another. */
const MISTAKES = [...Object.keys(SLIPS), "skippedStep", "extraStep", "answerMismatch"];
const LOST_SHARE = 0.5;

function corruptSolution(problem: Problem, uniform: Uniform): CorruptedSolution {
  const chain = readChain(problem);
  for (let attempt = 0; attempt < 30; attempt++) {
    const kind = uniform() < LOST_SHARE ? "lostTrack" : chooseItem(uniform, MISTAKES);
    if (kind === "answerMismatch") break;
    const worked = mistaken(chain, kind, uniform);
    if (worked?.counts.every(isCount)) {
      return { kind, steps: worked.steps, answer: worked.answer };
    }
  }
  const right = Number(problem.answer);
  const others = [...chain.counts, right + 1, right - 1].filter((count) => count !== right);
  const answer = String(chooseItem(uniform, others));
  return { kind: "answerMismatch", steps: [...problem.goldSteps], answer };
}
