/** A solution is judged by a run's verifier. */

import { type OpenAPIHono, z } from "@hono/zod-openapi";
import { listCheckpoints } from "../../run/store/checkpoint.ts";
import { RequestProblem } from "../http/problem.ts";
import { jsonBody, route } from "../http/route.ts";
import type { AllRuns } from "../launches/all_runs.ts";
import { verifyInProcess } from "../launches/verify_process.ts";
import { verifySchema } from "../launches/verify_request.ts";
import { newApi, requireRun } from "./api.ts";

/** Each takes a model's memory on the GPU, beside the runs. */
const AT_ONCE = 1;

const verify = route("post", "/api/verify", {
  summary: "A run's verifier judges a solution, which its generator writes unless it is given",
  body: jsonBody(verifySchema),
  200: {
    description: "JSON lines as they come: {type: solution | critique, text}, pieces of both; " +
      "at last {type: judged, steps, stepJudgments, verdict, …} or {type: failed, message}.",
    content: { "application/x-ndjson": { schema: z.string() } },
  },
  refuses: [404, 409],
});

/**
 * The route that judges.
 *
 * @param program the main module of the command line
 * @param ending ends what is being judged
 */
export function verifyRoutes(
  runs: AllRuns,
  program: string,
  ending: AbortSignal,
): OpenAPIHono {
  const api = newApi();
  let going = 0;
  api.openapi(verify, (context) => {
    const { run, problem, solution, ...asked } = context.req.valid("json");
    const { folder, kind } = requireRun(runs, run);
    if (kind !== "train") {
      const what = kind === "sft" ? "is fine-tuning" : "is a comparison: name one of its runs";
      throw new RequestProblem(422, `It has no verifier: the run ${run} ${what}.`, "run");
    }
    const steps = listCheckpoints(folder.checkpoints).map(({ step }) => step);
    if (steps.length === 0 || (asked.checkpoint !== null && !steps.includes(asked.checkpoint))) {
      const there = steps.join(", ") || "none yet";
      throw new RequestProblem(
        422,
        `There is no such checkpoint. There are: ${there}.`,
        "checkpoint",
      );
    }
    if (going >= AT_ONCE) {
      throw new RequestProblem(429, "Another solution is being judged; try again when it is done.");
    }
    const lines = verifyInProcess(
      program,
      folder.path,
      {
        ...asked,
        problem: problem.toWellFormed(),
        solution: solution?.toWellFormed() ?? null,
      },
      () => void going--,
      ending,
    );
    going++;
    return context.body(lines, 200, {
      "content-type": "application/x-ndjson",
      "cache-control": "no-store",
    }) as never; // the library types text/… and JSON only
  });
  return api;
}
