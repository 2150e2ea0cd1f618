/** `rows.jsonl`: what a finished run measured, all that a comparison's tables and curves are made of. */

import { z } from "zod";
import { exists, writeFileAtomically } from "../../platform/files/atomic_file.ts";
import { UserError } from "../../base/user_error.ts";
import { chainEnd } from "../report/chain_end.ts";
import type { Point } from "../report/line_charts.ts";
import { readJsonLines } from "../store/json_lines_log.ts";
import { METRIC } from "../store/metric_names.ts";
import type { MetricsLine } from "../store/metrics_log.ts";
import { runDeviceSchema } from "../store/run_device.ts";
import { CONTINUE } from "../store/run_folder.ts";
import type { ComparedRun } from "./comparison.ts";

const evaluationSchema = z.object({
  /** Training steps of either policy before it. */
  step: z.int(),
  generatorSteps: z.int(),
  /** Seconds in training steps before it; evaluations and checkpoints are not counted. */
  seconds: z.number(),
  /** Tokens sampled and trained on before it; null in rows of earlier versions. */
  tokens: z.int().nullable().default(null),
  accuracy: z.number(),
  /** Share that is right without a wrong step; null where the task cannot tell. */
  sound: z.number().nullable().default(null),
  /** Balanced accuracy of the verdicts; null without a verifier. */
  verdicts: z.number().nullable(),
  /** Balanced accuracy of the step judgments; null where the task cannot tell. */
  steps: z.number().nullable(),
  /** AUROC of the step judgments within wrong solutions; null where the task cannot tell, as the next one. */
  stepAurocInWrong: z.number().nullable().default(null),
  /** Share of the solutions with a wrong step whose first one is the first called wrong. */
  firstError: z.number().nullable().default(null),
  /** Share of critiques whose verdict is what their step judgments say together; null without a verifier. */
  consistency: z.number().nullable().default(null),
});

const rowSchema = z.object({
  arm: z.string(),
  seed: z.int(),
  /** Held-out problems of an evaluation. */
  problems: z.int(),
  device: z.string(),
  /** Revision of the program; null where it was not known, and in rows of earlier versions. */
  program: z.string().nullable().default(null),
  /** End of the run's chain of records; null in rows of earlier versions. */
  chain: z.string().nullable().default(null),
  steps: z.int(),
  generatorSteps: z.int(),
  /** Seconds in training steps. */
  seconds: z.number(),
  evaluations: z.array(evaluationSchema).min(1),
});

/** A finished run. */
export type RunRow = z.output<typeof rowSchema>;

/** An evaluation of a run. */
export type RowEvaluation = RunRow["evaluations"][number];

/**
 * Reads a finished run.
 *
 * @throws UserError when a log is damaged, or seconds of a step are missing
 */
export function rowOf({ arm, seed, folder }: ComparedRun): RunRow {
  const lines = readJsonLines<MetricsLine>(folder.metrics);
  const device = runDeviceSchema.parse(JSON.parse(Deno.readTextFileSync(folder.device)));
  const { evaluations, ...end } = readEvaluations(
    lines,
    spentBySteps(folder.timings),
    folder.timings,
  );
  const problems = lines.findLast((line) => METRIC.evaluatedProblems in line)
    ?.[METRIC.evaluatedProblems];
  if (evaluations.length === 0 || typeof problems !== "number") {
    throw new Error(`${folder.metrics} holds no evaluation`);
  }
  return {
    arm: arm.name,
    seed,
    problems,
    device: `${device.adapter} (${device.engine})`,
    program: device.program ?? null,
    chain: chainEnd(folder),
    ...end,
    evaluations,
  };
}

/** What a step took. */
export interface Spent {
  readonly seconds: number;
  /** Sampled and trained on; null where it is not told. */
  readonly tokens: number | null;
}

function spentBySteps(timings: string): ReadonlyMap<number, Spent> {
  return new Map(
    readJsonLines<MetricsLine>(timings).flatMap((line) => {
      const seconds = line[METRIC.stepSeconds], rate = line[METRIC.tokensPerSecond];
      if (typeof seconds !== "number") return [];
      const tokens = typeof rate === "number" ? Math.round(rate * seconds) : null;
      return [[line.step, { seconds, tokens }] as const];
    }),
  );
}

/**
 * Evaluations in order, with what came before each.
 *
 * @param lines of metrics.jsonl
 * @param timings what each step took
 * @param path where they come from, for messages
 */
export function readEvaluations(
  lines: readonly MetricsLine[],
  timings: ReadonlyMap<number, Spent>,
  path: string,
): Pick<RunRow, "steps" | "generatorSteps" | "seconds" | "evaluations"> {
  const evaluations: RowEvaluation[] = [];
  let steps = 0, generatorSteps = 0, seconds = 0;
  let tokens: number | null = 0;
  const numberOf = (line: MetricsLine, metric: string) => {
    const value = line[metric];
    return typeof value === "number" ? value : null;
  };
  for (const line of lines) {
    if (line.phase === "evaluation") {
      const accuracy = numberOf(line, METRIC.generatorAccuracy);
      if (accuracy === null) continue;
      evaluations.push({
        step: steps,
        generatorSteps,
        seconds,
        tokens,
        accuracy,
        sound: numberOf(line, METRIC.generatorSoundAccuracy),
        verdicts: numberOf(line, METRIC.verifierBalancedAccuracy),
        steps: numberOf(line, METRIC.verifierStepBalancedAccuracy),
        stepAurocInWrong: numberOf(line, METRIC.verifierStepAurocInWrong),
        firstError: numberOf(line, METRIC.verifierFirstError),
        consistency: numberOf(line, METRIC.verifierConsistency),
      });
      continue;
    }
    const taken = timings.get(line.step);
    if (taken === undefined) {
      throw new UserError(
        `${path} holds no seconds of step ${line.step}, so that wall clock cannot be compared. Remove that run's ` +
          "folder and continue the comparison: the run is done again.",
      );
    }
    steps++;
    seconds += taken.seconds;
    tokens = tokens === null || taken.tokens === null ? null : tokens + taken.tokens;
    if (line.phase === "generator") generatorSteps++;
  }
  return { steps, generatorSteps, seconds, evaluations };
}

/**
 * Accuracy by generator steps. Verifier steps do not move it forward: of several evaluations at the same generator step
 * the last counts, except at 0, which is the start.
 */
export function byGeneratorSteps({ evaluations }: RunRow): Point[] {
  const byStep = new Map<number, number>();
  for (const { generatorSteps, accuracy } of evaluations) {
    if (generatorSteps > 0 || !byStep.has(0)) byStep.set(generatorSteps, accuracy);
  }
  return [...byStep];
}

/** Accuracy by training seconds. */
export function bySeconds({ evaluations }: RunRow): Point[] {
  return evaluations.map(({ seconds, accuracy }) => [seconds, accuracy]);
}

/** Accuracy by tokens sampled and trained on; empty where they are not told. */
export function byTokens({ evaluations }: RunRow): Point[] {
  return evaluations.flatMap(({ tokens, accuracy }): Point[] =>
    tokens === null ? [] : [[tokens, accuracy]]
  );
}

/**
 * Accuracy by training seconds, without those evaluations that verifier steps alone lie before: the generator was
 * measured already.
 */
export function measuredBySeconds({ evaluations }: RunRow): Point[] {
  return evaluations
    .filter(({ generatorSteps }, i) => generatorSteps !== evaluations[i - 1]?.generatorSteps)
    .map(({ seconds, accuracy }) => [seconds, accuracy]);
}

/** A measure of the verifier by training steps of either policy; empty without a verifier. */
export function verifierBySteps(
  { evaluations }: RunRow,
  measure: "verdicts" | "steps",
): Point[] {
  return evaluations.flatMap((evaluation): Point[] => {
    const value = evaluation[measure];
    return value === null ? [] : [[evaluation.step, value]];
  });
}

/**
 * Rows of the runs that have left one; none where there is no file.
 *
 * @throws UserError when the file is damaged
 */
export function readRows(path: string): RunRow[] {
  if (!exists(path)) return [];
  return Deno.readTextFileSync(path).split("\n").filter((text) => text !== "").map((text, i) => {
    const { data } = rowSchema.safeParse(tryJson(text));
    if (data !== undefined) return data;
    throw new UserError(
      `${path}:${
        i + 1
      } is no row of a comparison. Remove the line; it is read from its run's folder again.`,
    );
  });
}

function tryJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** Writes rows, in the order given. */
export function writeRows(path: string, rows: readonly RunRow[]): void {
  writeFileAtomically(path, rows.map((row) => `${JSON.stringify(row)}\n`).join(""), CONTINUE);
}
