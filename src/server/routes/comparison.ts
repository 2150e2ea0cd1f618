/** What a comparison does, and what came of it so far. */

import { z } from "@hono/zod-openapi";
import { basename } from "node:path";
import { type ComparedRun, planComparison } from "../../run/compare/comparison.ts";
import {
  type ArmEnds,
  comparisonRows,
  efficiencyRows,
} from "../../run/compare/comparison_results.ts";
import { isComparison, openComparison } from "../../run/compare/comparison_folder.ts";
import { readEfficiency } from "../../run/compare/stored_efficiency.ts";
import { isFinished } from "../../run/session/training_session.ts";
import { RequestProblem } from "../http/problem.ts";
import { json, route } from "../http/route.ts";
import { readEnds } from "../index/read_comparison.ts";
import type { AllRuns } from "../launches/all_runs.ts";
import type { RunList } from "../runs/run_list.ts";
import { newApi, requireRun, runParameter } from "./api.ts";

const measured = z.object({
  mean: z.number(),
  deviation: z.number().describe("Sample standard deviation; 0 of one run."),
  runs: z.int(),
}).nullable().describe("Null where no finished run has it.");

const comparisonSchema = z.object({
  runs: z.array(z.object({
    id: z.string(),
    method: z.string().describe("Name of its arm."),
    seed: z.int(),
  })).describe("In the order in which they are done; those to come have not begun."),
  table: z.array(z.object({
    name: z.string(),
    runs: z.int(),
    generatorAccuracy: measured,
    verifierBalancedAccuracy: measured,
  })).describe(
    "Of where all began and where each arm came to; empty before a run is finished.",
  ),
  efficiency: z.object({
    baseline: z.string().describe("Name of the arm whose end the others are to come to."),
    jobs: z.int().describe("Runs that went on at once, each slower for the others."),
    arms: z.array(z.object({
      name: z.string(),
      pairs: z.int().describe("Seeds that the arm and the baseline have both finished."),
      reached: z.int().describe("Pairs whose run comes to where the baseline's ended."),
      steps: measured,
      tokens: measured,
      seconds: measured,
    })),
  }).nullable().describe(
    "Generator steps, tokens and seconds that each arm takes to the final accuracy of the baseline, as shares of what " +
      "that one took: compare.json's own. Null before a pair is finished.",
  ),
});

/** The runs of a comparison, and what came of it so far. */
export type ComparisonSoFar = z.infer<typeof comparisonSchema>;

const comparison = route("get", "/api/runs/{id}/comparison", {
  summary: "The runs of a comparison, and the table of those that are finished",
  params: runParameter,
  200: json(
    "Each run that has begun is one of /api/runs too, with its own metrics, samples and so on.",
    comparisonSchema,
  ),
  refuses: [404, 409],
});

/** Routes of comparisons. */
export function comparisonRoutes(runs: AllRuns) {
  return newApi()
    .openapi(comparison, (context) => {
      const { id } = context.req.valid("param");
      const { folder } = requireRun(runs, id);
      if (!isComparison(folder.path)) throw new RequestProblem(409, "The run is no comparison.");
      const { arms, seeds } = openComparison(folder.path);
      const planned = planComparison(arms, seeds, folder.path);
      const idOf = (run: ComparedRun) => `${id}:${basename(run.folder.path)}`;
      const results = resultsOf(runs.list, planned, idOf);
      return context.json({
        runs: planned.map((run) => ({ id: idOf(run), method: run.arm.name, seed: run.seed })),
        table: results.length === 0 ? [] : comparisonRows(results),
        efficiency: efficiencyOf(folder.path),
      }, 200);
    });
}

function efficiencyOf(path: string): ComparisonSoFar["efficiency"] {
  const stored = readEfficiency(path);
  if (stored === null || stored.efficiency.length === 0) return null;
  const { baseline, jobs, efficiency } = stored;
  return { baseline, jobs, arms: efficiencyRows(efficiency) };
}

/** As compare.md has them, but from the index. */
function resultsOf(
  list: RunList,
  planned: readonly ComparedRun[],
  idOf: (run: ComparedRun) => string,
): ArmEnds[] {
  const finished = planned.filter(({ folder, config }) => isFinished(folder, config));
  const byArm = Map.groupBy(finished, ({ arm }) => arm);
  return [...byArm].flatMap(([arm, runs]) => {
    const ends = runs.flatMap((run) => {
      const indexed = list.find(idOf(run))?.indexed;
      return indexed === undefined ? [] : readEnds(list.index, indexed.id) ?? [];
    });
    return ends.length === 0 ? [] : [{ arm, runs: ends }];
  });
}
