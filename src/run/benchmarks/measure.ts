import { join } from "node:path";
import type { DataRecord } from "../../data/files/record.ts";
import type { AnswerJudge } from "../../grading/answer_judge.ts";
import { AnswersLog } from "../answers/answers_log.ts";
import type { TangoConfig } from "../config/config_schema.ts";
import { isJudged, type LabelledRecord } from "../tango/process_evaluation.ts";
import { askedDigest, type Asking, greedily, sampled, type Way } from "./asking.ts";
import type { LoadedBenchmark } from "./benchmark_files.ts";
import { gradeAnswers } from "./grade_answers.ts";
import { gradeCritiques } from "./grade_critiques.ts";
import type { JudgedBenchmark, SolvedBenchmark } from "./results.ts";
import { judging, type Role, solving } from "./roles.ts";

/** A model that is measured, and how. */
export interface Measuring {
  readonly config: TangoConfig;
  /** Digest of its weights. */
  readonly weights: string;
  /** Folder in which answers are kept, which is there. */
  readonly folder: string;
  /** Problems of each benchmark that are taken, the first ones; null: all. */
  readonly problems: number | null;
}

/** A benchmark whose answers are being gathered, until it is disposed of. */
export interface Gathering<Problem> extends Disposable {
  readonly loaded: LoadedBenchmark;
  /** Those that are taken. */
  readonly problems: readonly Problem[];
  readonly askings: readonly Asking<Problem>[];
}

/** A benchmark that a generator solves. @throws UserError when its answers were asked for otherwise, or are damaged */
export function gatherSolutions(
  measuring: Measuring,
  loaded: LoadedBenchmark,
  samples: number | null,
): Gathering<DataRecord> {
  const { config } = measuring;
  const ways = {
    greedy: greedily(config),
    ...(samples !== null && { sampled: sampled(config, samples) }),
  };
  return gather(measuring, loaded, loaded.records, solving, ways);
}

/** A benchmark whose solutions a verifier judges. @throws UserError as `gatherSolutions` does */
export function gatherCritiques(
  measuring: Measuring,
  loaded: LoadedBenchmark,
): Gathering<LabelledRecord> {
  const records = loaded.records.filter(isJudged);
  return gather(measuring, loaded, records, judging, { critiques: greedily(measuring.config) });
}

function gather<Problem, Variable extends string>(
  { config, weights, folder, problems: count }: Measuring,
  loaded: LoadedBenchmark,
  all: readonly Problem[],
  role: Role<Problem, Variable>,
  ways: Readonly<Record<string, Way>>,
): Gathering<Problem> {
  const { name } = loaded.benchmark;
  const problems = all.slice(0, count ?? undefined);
  using logs = new DisposableStack();
  const askings = Object.entries(ways).map(([kind, way]): Asking<Problem> => {
    const digest = askedDigest(config, role, weights, all, way);
    const log = logs.use(new AnswersLog(join(folder, `${name}.${kind}.jsonl`), digest));
    return { name: `${name}, ${kind}`, problems, log, ...way };
  });
  const kept = logs.move();
  return { loaded, problems, askings, [Symbol.dispose]: () => kept.dispose() };
}

/** What the answers to a benchmark come to, once all of them are there. */
export async function measureSolutions(
  judge: AnswerJudge,
  gathering: Gathering<DataRecord>,
): Promise<SolvedBenchmark> {
  const { problems, askings } = gathering;
  const grade = (asking: Asking<DataRecord>) => gradeAnswers(judge, problems, answersOf(asking));
  const [greedy, samples] = askings;
  const { group } = gathering.loaded.benchmark;
  if (group === "process") throw new Error("written solutions are judged, not solved");
  return {
    ...measuredOf(gathering),
    group,
    greedy: await grade(greedy),
    sampled: samples === undefined ? null : await grade(samples),
  };
}

/** What a verifier's critiques come to, once all of them are there. */
export function measureCritiques(gathering: Gathering<LabelledRecord>): JudgedBenchmark {
  const { problems, askings: [critiques] } = gathering;
  return {
    ...measuredOf(gathering),
    group: "process",
    critiques: gradeCritiques(problems, answersOf(critiques)),
  };
}

/** Answers to the problems that are taken; earlier calls may have taken more. */
function answersOf({ problems, log }: Asking<unknown>) {
  return log.answers.slice(0, problems.length);
}

function measuredOf(
  { loaded: { benchmark, records, leftOut }, problems, askings }: Gathering<unknown>,
) {
  return {
    name: benchmark.name,
    problems: problems.length,
    all: records.length,
    expected: benchmark.problems,
    tooLong: answersOf(askings[0]).filter(({ length }) => length === 0).length,
    leftOut,
  };
}
