/** Where two runs part, and why. */

import { z } from "@hono/zod-openapi";
import { exists } from "../../platform/files/atomic_file.ts";
import { differenceSchema } from "../differences/difference_schema.ts";
import { findDifference } from "../differences/find_difference.ts";
import { RequestProblem } from "../http/problem.ts";
import { json, route } from "../http/route.ts";
import type { AllRuns } from "../launches/all_runs.ts";
import { isGoing } from "../runs/run_view.ts";
import { newApi, requireRun, runParameter } from "./api.ts";

const difference = route("get", "/api/runs/{id}/difference", {
  summary: "Where two runs part, and what they went by that differs, as far as both have come",
  params: runParameter,
  query: z.object({
    other: z.string().min(1).max(255).describe("The run that it is set beside."),
  }),
  200: json("As ./tango diff has it: `a` is the run, `b` the other.", differenceSchema),
  refuses: [404, 409, 503],
});

/**
 * The route of two runs beside each other.
 *
 * @param ending ends what is only done for who waits for it
 */
export function differenceRoutes(runs: AllRuns, ending: AbortSignal) {
  return newApi()
    .openapi(difference, async (context) => {
      const { id } = context.req.valid("param");
      const { other } = context.req.valid("query");
      const [a, b] = [id, other].map((name) => requireRecords(runs, name));
      if (a === b) {
        throw new RequestProblem(
          422,
          `${id} and ${other} are one run, and a run is the same as itself. Name another.`,
          "other",
        );
      }
      const signal = AbortSignal.any([context.req.raw.signal, ending]);
      return context.json(await findDifference([a, b], signal), 200);
    });
}

/** @returns the run's folder */
function requireRecords(runs: AllRuns, name: string): string {
  const { folder, kind } = requireRun(runs, name);
  if (kind === "compare") {
    throw new RequestProblem(409, `The run ${name} is a comparison: name one of its runs.`);
  }
  if (exists(folder.audit) && Deno.statSync(folder.audit).size > 0) return folder.path;
  const { state, step } = runs.view(name);
  throw new RequestProblem(
    409,
    isGoing(state) && step === 0
      ? `The run ${name} has no record yet: its first step is still to come.`
      : `The run ${name} has no records of its steps (audit.jsonl): an earlier version made it, or it ended before its ` +
        "first step. Where it parts from another can be told once it is trained anew.",
  );
}
