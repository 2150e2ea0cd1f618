import assert from "node:assert/strict";
import { makeRecord } from "../../../src/data/files/record.ts";
import { RandomStream } from "../../../src/random/philox.ts";
import { parseCritique } from "../../../src/rl/text/parse_critique.ts";
import { parseSolution } from "../../../src/rl/text/parse_solution.ts";
import { sftConfigSchema } from "../../../src/run/config/sft_config_schema.ts";
import { critiqueWording, solutionWording } from "../../../src/run/problems/example_wording.ts";

const record = makeRecord({
  question: "How many?",
  source: "test",
  answer: "26",
  solution: "18 + 14 = 32\n32 - 6 = 26",
  solutionSteps: ["18 + 14 = 32", "32 - 6 = 26"],
});
const told = (correctShare: number, labels: "gold" | "coin_flip" = "gold") => ({
  ...{ correctShare, labels, form: "judgments" as const, own: new Map() },
});
const uniformOf = (seed: number) => {
  const random = new RandomStream(seed, 90);
  return () => random.uniform();
};

Deno.test("solutions: as written, or by steps in the generator's format", () => {
  const template = { render: ({ question }: { question: string | number }) => `Q ${question}` };
  const written = solutionWording(template, "solution")(record, uniformOf(1));
  assert.deepEqual(written, { prompt: "Q How many?", response: record.solution });
  const { response } = solutionWording(template, "steps")(record, uniformOf(1));
  const { steps, answer, wellFormed } = parseSolution(response);
  assert.deepEqual(steps.map(({ text }) => text), record.solutionSteps);
  assert.equal(answer, "26");
  assert.ok(wellFormed);
});

Deno.test("critiques: a judgment for each step, a verdict on the answer, half of them of mistakes", () => {
  const template = {
    render: ({ solution, steps }: { solution: string | number; steps: string | number }) =>
      `${steps} ${solution}`,
  };
  let right = 0;
  for (let seed = 0; seed < 200; seed++) {
    const { prompt, response } = critiqueWording(template, told(0.5))(record, uniformOf(seed));
    const shown = parseSolution(prompt);
    const { stepJudgments, verdict, blocksInOrder } = parseCritique(response);
    assert.ok(blocksInOrder);
    assert.deepEqual(
      stepJudgments,
      shown.steps.map(({ text }, i) => text === record.solutionSteps?.[i]),
    );
    assert.equal(verdict, shown.answer === "26");
    if (stepJudgments.every((judgment) => judgment)) right++;
  }
  // Of 200 with a share of a half: within five standard deviations.
  assert.ok(Math.abs(right - 100) < 36, `${right}`);
  for (const share of [0, 1]) {
    const { response } = critiqueWording(template, told(share))(record, uniformOf(3));
    assert.equal(parseCritique(response).stepJudgments.includes(false), share === 0);
  }
});

Deno.test("critiques by coin flip: their judgments agree with their verdict and know nothing", () => {
  const template = {
    render: ({ solution }: { solution: string | number }) => String(solution),
  };
  // [the solution is right][the verdict says so], and the same of the first step.
  const verdicts = [[0, 0], [0, 0]], firstSteps = [[0, 0], [0, 0]];
  const tries = 2000;
  for (let seed = 0; seed < tries; seed++) {
    const uniform = uniformOf(seed);
    const { prompt, response } = critiqueWording(template, told(0.5, "coin_flip"))(record, uniform);
    const shown = parseSolution(prompt);
    const { stepJudgments, verdict, blocksInOrder } = parseCritique(response);
    assert.ok(blocksInOrder);
    assert.equal(stepJudgments.length, 2);
    assert.equal(verdict, stepJudgments.every((judgment) => judgment));
    verdicts[Number(shown.answer === "26")][Number(verdict)]++;
    firstSteps[Number(shown.steps[0].text === record.solutionSteps?.[0])][
      Number(stepJudgments[0])
    ]++;
  }
  const share = ([no, yes]: number[]) => yes / (no + yes);
  // Five standard deviations of a share among the about 500 to 1000 of each kind: 0.11 and 0.08.
  for (const kind of verdicts) assert.ok(Math.abs(share(kind) - 1 / 2) < 0.08, `${verdicts}`);
  // CORRECT under a right verdict, and in one of the three ways to have not both so.
  for (const kind of firstSteps) assert.ok(Math.abs(share(kind) - 2 / 3) < 0.11, `${firstSteps}`);
});

Deno.test("worked critiques: the right step stands beside the claim, on mistakes of every kind", () => {
  const template = {
    render: ({ solution, steps }: { solution: string | number; steps: string | number }) =>
      `${steps} ${solution}`,
  };
  const options = { ...told(0.3), form: "worked" as const };
  let wrongOperators = 0, shorter = 0;
  for (let seed = 0; seed < 300; seed++) {
    const { prompt, response } = critiqueWording(template, options)(record, uniformOf(seed));
    const shown = parseSolution(prompt);
    assert.equal(prompt[0], String(shown.steps.length));
    const { stepJudgments, verdict, blocksInOrder } = parseCritique(response);
    assert.ok(blocksInOrder);
    const claims = shown.steps.map(({ text }) => text.match(/\d+$/)?.[0]);
    assert.deepEqual(stepJudgments, claims.map((claim, i) => claim === ["32", "26"][i]));
    assert.equal(verdict, shown.answer === "26");
    claims.forEach((claim, i) => {
      assert.ok(response.includes(`<step>${record.solutionSteps?.[i]}, claimed ${claim} \\boxed{`));
    });
    if (shown.steps.length === 1) shorter++;
    else if (!/ \+ [^]* - /.test(shown.steps.map(({ text }) => text).join())) wrongOperators++;
  }
  assert.ok(wrongOperators > 15 && shorter > 15, `${wrongOperators}, ${shorter}`);
});

Deno.test("worked critiques: refused where they would change nothing", () => {
  const data = { train: [{ path: "some.jsonl" }] };
  const common = { policy: "verifier", initial_model: "some/model", critiques: "worked" };
  assert.equal(sftConfigSchema.parse({ ...common, data }).critiques, "worked");
  assert.throws(() => sftConfigSchema.parse(common), /an embedded task's critiques hold work/);
  const solves = { ...common, policy: "generator", data };
  assert.throws(() => sftConfigSchema.parse(solves), /because the policy is the generator/);
});

Deno.test("worked critiques: a generator's own solutions stand in the place of the file's and of made-up ones", () => {
  const template = { render: ({ solution }: { solution: string | number }) => String(solution) };
  const own = new Map([[record.question, {
    right: [{ steps: ["14 + 18 = 32", "32 - 6 = 26"], answer: "26" }],
    wrong: [
      { steps: ["18 - 14 = 4", "32 - 6 = 26", "26 + 1 = 27"], answer: "27" },
      { steps: ["18 + 14 = 32"], answer: "32" },
    ],
  }]]);
  const options = { ...told(0.4), form: "worked" as const, own };
  const counts = new Map<string, number>();
  for (let seed = 0; seed < 300; seed++) {
    const { prompt, response } = critiqueWording(template, options)(record, uniformOf(seed));
    const { steps, answer } = parseSolution(prompt);
    counts.set(answer ?? "", (counts.get(answer ?? "") ?? 0) + 1);
    const { stepJudgments, verdict } = parseCritique(response);
    assert.equal(verdict, answer === "26");
    if (answer === "27") {
      assert.deepEqual(stepJudgments, [false, true, false]);
      assert.ok(response.includes("<step>-, claimed 27 \\boxed{INCORRECT}</step>"), response);
    } else assert.ok(stepJudgments.length === steps.length && !stepJudgments.includes(false));
    if (answer === "26") assert.equal(steps[0].text, "14 + 18 = 32");
  }
  // 120 right ones and 90 of each: within five standard deviations.
  for (const [answer, expected] of [["26", 120], ["27", 90], ["32", 90]] as const) {
    assert.ok(Math.abs((counts.get(answer) ?? 0) - expected) < 43, JSON.stringify([...counts]));
  }
  const other = critiqueWording(template, { ...options, correctShare: 0 })(
    makeRecord({ ...record, question: "Another?" }),
    uniformOf(0),
  );
  assert.ok(!["27", "32"].includes(parseSolution(other.prompt).answer ?? ""));
});
