/** Numbers that are known beforehand: a made-up generator and a made-up verifier on stand-ins of every benchmark. */

import assert from "node:assert/strict";
import { AnswerJudge } from "../../../src/grading/answer_judge.ts";
import { renderCritique, renderSolution } from "../../../src/data/solution_text.ts";
import { answerRest, type Solver } from "../../../src/run/answers/answer_rest.ts";
import {
  gatherCritiques,
  gatherSolutions,
  measureCritiques,
  measureSolutions,
} from "../../../src/run/benchmarks/measure.ts";
import {
  type BenchmarkResult,
  groupAverage,
  isWhole,
} from "../../../src/run/benchmarks/results.ts";
import { resultsTable } from "../../../src/run/benchmarks/results_table.ts";
import { loadSuite } from "../../../src/run/benchmarks/suite.ts";
import { loadWanted, wantedBenchmarks } from "../../../src/run/benchmarks/wanted.ts";
import { loadTangoConfig } from "../../../src/run/config/load_config.ts";
import { STAND_IN_ANSWERS, STAND_IN_JUDGMENTS } from "./stand_in_answers.ts";

const STAND_INS = "tests/run/benchmarks/stand_ins/suite.yaml";

const config = loadTangoConfig("configs/tango-qwen2.5-7b.yaml");
const suite = loadSuite(STAND_INS);

/** Writes texts by a problem's place, the last problem's first. */
function fakeSolver(textsAt: (place: number) => readonly string[]): Solver<unknown> {
  return {
    solve(problems, first, heard) {
      for (let place = first + problems.length - 1; place >= first; place--) {
        heard(place, textsAt(place).map((text) => ({ text, isFinished: text !== "" })));
      }
      return Promise.resolve();
    },
  };
}

const solution = (answer: string | null) =>
  answer === null ? "" : renderSolution({ steps: ["So it is."], answer });

/** Judges three steps; null: one of them. */
function critique(firstWrong: number | null): string {
  const steps = [0, 1, 2].slice(firstWrong === null ? 2 : 0);
  return renderCritique({
    steps: steps.map((step) => ({ text: "Seen.", isCorrect: step !== firstWrong })),
    verdict: firstWrong === -1,
  });
}

/** Measures both, greedily; the generator's second sample says of the first ten problems what the first does, then nothing. */
async function measureAll(
  judge: AnswerJudge,
  problems: number | null = null,
): Promise<BenchmarkResult[]> {
  const folder = Deno.makeTempDirSync();
  const measuring = { config, weights: "none", folder, problems };
  try {
    const both = { model: "m", verifier: "v" };
    const { solved, judged } = await loadWanted(suite, wantedBenchmarks(suite, both), null);
    const results: BenchmarkResult[] = [];
    for (const one of solved) {
      using gathering = gatherSolutions(measuring, one, 2);
      const [greedy, sampled] = gathering.askings;
      const { answers } = STAND_IN_ANSWERS[one.benchmark.name];
      const at = (place: number) => solution(answers[place]);
      await answerRest(greedy.problems, greedy.log, fakeSolver((place) => [at(place)]));
      const twice = fakeSolver((place) => [at(place), place < 10 ? at(place) : ""]);
      await answerRest(sampled.problems, sampled.log, twice);
      results.push(await measureSolutions(judge, gathering));
    }
    for (const one of judged) {
      using gathering = gatherCritiques(measuring, one);
      const [{ problems, log }] = gathering.askings;
      const judgments = STAND_IN_JUDGMENTS[one.benchmark.name];
      await answerRest(problems, log, fakeSolver((place) => [critique(judgments[place])]));
      results.push(measureCritiques(gathering));
    }
    assert.equal(judge.timeouts, 0);
    return results;
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
}

const near = (found: number, expected: number, what: string) =>
  assert.ok(Math.abs(found - expected) < 1e-12, `${what}: ${found}, expected ${expected}`);

/** Right of how many, and right among both samples of how many. */
const SOLVED: Readonly<Record<string, readonly [right: number, of: number, twice: number]>> = {
  MATH500: [14, 20, 24],
  AIME24: [6, 20, 12],
  AIME25: [4, 20, 8],
  AMC23: [10, 20, 20],
  OlympiadBench: [17, 34, 27],
  BoardgameQA: [10, 20, 20],
  CRUXEval: [15, 20, 25],
  StrategyQA: [8, 20, 16],
  TableBench: [8, 16, 16],
};

/** First wrong steps found, solutions without one passed, F1. */
const JUDGED: Readonly<Record<string, readonly [number, number, number]>> = {
  "ProcessBench-gsm8k": [0.5, 0.75, 0.6],
  "ProcessBench-math": [0.4, 0.6, 0.48],
  "ProcessBench-olympiadbench": [0.2, 0.8, 0.32],
  "ProcessBench-omnimath": [0.25, 0.25, 0.25],
};

Deno.test("benchmarks: numbers of every stand-in", async (test) => {
  using judge = new AnswerJudge();
  const results = await measureAll(judge);
  await test.step("they are those counted by hand", () => checkNumbers(results));
  await test.step("the table has the published figures beside", () => checkTable(results));
  const part = await measureAll(judge, 4);
  await test.step("a part has no average", () => checkPart(part));
});

function checkNumbers(results: readonly BenchmarkResult[]): void {
  assert.equal(results.length, 13);
  for (const result of results) {
    const { name } = result;
    assert.ok(isWhole(result), name);
    if (result.group === "process") {
      const [erroneous, correct, f1] = JUDGED[name];
      near(result.critiques.erroneous?.value ?? NaN, erroneous, `${name}, found`);
      near(result.critiques.correct?.value ?? NaN, correct, `${name}, passed`);
      near(result.critiques.f1?.value ?? NaN, f1, name);
      continue;
    }
    const [right, of, twice] = SOLVED[name];
    assert.equal(STAND_IN_ANSWERS[name].right, right, name);
    assert.equal(result.problems, of, name);
    near(result.greedy.accuracy.value, right / of, name);
    near(result.sampled?.accuracy.value ?? NaN, twice / (2 * of), `${name}, mean@2`);
  }
  const at = (name: string) => results.find((one) => one.name === name);

  // (14/20 + 6/20 + 4/20 + 10/20 + 17/34) / 5, and of both samples (24 + 12 + 8 + 20)/40 and 27/68.
  const mathematics = groupAverage(suite, "mathematics", results);
  near(mathematics?.greedy.value ?? NaN, 0.44, "mathematics");
  near(mathematics?.sampled?.value ?? NaN, (0.6 + 0.3 + 0.2 + 0.5 + 27 / 68) / 5, "mean@2");
  // (0.5 + 0.75 + 0.4 + 0.5) / 4
  near(groupAverage(suite, "out-of-domain", results)?.greedy.value ?? NaN, 0.5375, "elsewhere");
  // (0.6 + 0.48 + 0.32 + 0.25) / 4
  near(groupAverage(suite, "process", results)?.greedy.value ?? NaN, 0.4125, "process");

  // 16 of 24 with two right and two wrong ones more: the root of 2/3 · 1/3 / 24.
  const math = at("MATH500");
  assert.ok(math?.group === "mathematics");
  near(math.greedy.accuracy.error, Math.sqrt(2 / 9 / 24), "standard error");
  near(math.greedy.cutOff, 1 / 20, "the one without a box was cut off");
  const part = at("ProcessBench-gsm8k");
  assert.ok(part?.group === "process");
  near(part.critiques.unjudged, 2 / 20, "critiques of too few steps");
  // a = 1/2 of 12, b = 3/4 of 8: dF/da = 2 (3/5)², dF/db = 2 (2/5)²; errors √(1/4 / 16) and √(2/3 · 1/3 / 12).
  const error = Math.hypot(0.72 * 0.125, 0.32 * Math.sqrt(2 / 9 / 12));
  near(part.critiques.f1?.error ?? NaN, error, "standard error of F1");

  const dropped = (name: string) =>
    Object.fromEntries(at(name)?.leftOut.map(({ reason, count }) => [reason, count]) ?? []);
  assert.deepEqual(dropped("OlympiadBench"), { "proof problem": 3, "problem with an image": 3 });
  assert.deepEqual(dropped("TableBench"), {
    "question for Visualization": 2,
    "question for DataAnalysis": 2,
  });
}

const tableOf = (results: readonly BenchmarkResult[]) =>
  resultsTable({
    suite,
    model: "m",
    verifier: "v",
    sampling: { k: 2, temperature: 1, seed: 0 },
    timeouts: 0,
    results,
  });

/** Cells of a table's rows by the first of them. */
const cells = (table: string) =>
  new Map(
    table.split("\n").filter((line) => line.startsWith("|"))
      .map((line) => line.split("|").slice(1, -1).map((cell) => cell.trim()))
      .map(([name, ...rest]) => [name, rest]),
  );

function checkTable(results: readonly BenchmarkResult[]): void {
  const whole = tableOf(results);
  const rows = cells(whole);
  assert.deepEqual(rows.get("MATH500"), ["20", "70.0 ± 9.6", "60.0 ± 9.2", "10.0", "20.5"]);
  assert.equal(rows.get("OlympiadBench")?.[0], "34");
  assert.deepEqual(rows.get("mathematics, average")?.slice(3), ["30.0", "–"]);
  assert.match(rows.get("mathematics, average")?.[1] ?? "", /^44\.0 ± /);
  assert.match(rows.get("out-of-domain, average")?.[1] ?? "", /^53\.8 ± /);
  assert.deepEqual(rows.get("ProcessBench-math")?.slice(3), ["48.0 ± 10.4", "12.3"]);
  assert.match(rows.get("process, average")?.[3] ?? "", /^41\.3 ± /);
  assert.match(whole, /OlympiadBench 3 \(proof problem, first .*jsonl:3\) and 3 \(problem with/);
  assert.match(
    whole,
    /^Critiques that do not judge .*: ProcessBench-gsm8k 10\.0 %, ProcessBench-math/m,
  );
  assert.doesNotMatch(whole, /^Parts|^No average/m);
}

function checkPart(results: readonly BenchmarkResult[]): void {
  const part = tableOf(results);
  const some = cells(part);
  assert.deepEqual(some.get("MATH500")?.slice(0, 1), ["4 of 20"]);
  assert.deepEqual(some.get("MATH500")?.slice(3), ["–", "–"], "nothing published beside a part");
  for (const group of ["mathematics", "out-of-domain", "process"]) {
    assert.deepEqual(new Set(some.get(`${group}, average`)), new Set(["–"]));
  }
  assert.match(
    part,
    /^Parts, the first problems alone, .*: MATH500, .*, ProcessBench-omnimath\.$/m,
  );
  // The first four of this part all have a wrong step: nothing is said of the others, nor F1.
  assert.deepEqual(some.get("ProcessBench-gsm8k")?.slice(2, 4), ["–", "–"]);
  assert.match(part, /^No average of process: it takes all 4 of its benchmarks, each whole\.$/m);
}
