/** The runs: found, described by a person, and started again. */

import { z } from "@hono/zod-openapi";
import { hasShippedArms, readSeeds } from "../../run/compare/comparison_folder.ts";
import { RequestProblem } from "../http/problem.ts";
import { json, jsonBody, route } from "../http/route.ts";
import type { AllRuns } from "../launches/all_runs.ts";
import { configurationInForce } from "../runs/configuration_in_force.ts";
import type { RunList } from "../runs/run_list.ts";
import { changeNotes, notesSchema } from "../runs/run_notes.ts";
import { runSchema, runStateSchema, type RunView } from "../runs/run_view.ts";
import { newApi, requireRun, runParameter } from "./api.ts";

const text = (what: string) => z.string().min(1).max(200).optional().describe(what);

const list = route("get", "/api/runs", {
  summary: "All runs, or those that are looked for, the newest first unless sorted otherwise",
  query: z.object({
    search: text("In names, tags and notes, whatever the case."),
    tag: text("Runs that have it."),
    state: runStateSchema.optional(),
    kind: runSchema.shape.kind.optional(),
    sort: z.enum(["startedAt", "endedAt", "id", "state", "step"]).optional(),
    order: z.enum(["ascending", "descending"]).optional().describe(
      "Names and states ascend unless told, all others descend.",
    ),
  }),
  200: json(
    "Those of the server and those of the command line.",
    z.object({
      runs: z.array(runSchema),
      tags: z.array(z.string()).describe("All that any run has."),
      problem: z.string().nullable().describe("Why what is shown may be behind."),
    }),
  ),
});

const one = route("get", "/api/runs/{id}", {
  summary: "A run",
  params: runParameter,
  200: json("The run.", runSchema),
  refuses: [404],
});

const describe = route("patch", "/api/runs/{id}", {
  summary: "Gives a run tags and a note; what is left out stays",
  params: runParameter,
  body: jsonBody(z.strictObject(notesSchema.shape).partial()),
  200: json("The run.", runSchema),
  refuses: [404, 409],
});

const againSchema = z.object({
  kind: runSchema.shape.kind,
  configuration: z.record(z.string(), z.unknown()),
  ranks: z.int().optional(),
  seeds: z.array(z.int()).optional(),
});

/** What starts a run again. */
export type RunAgain = z.infer<typeof againSchema>;

const again = route("get", "/api/runs/{id}/request", {
  summary: "What starts the same run again: to be changed and sent to POST /api/runs",
  params: runParameter,
  200: json("With the settings that are in force.", againSchema),
  refuses: [404, 409],
});

/** Routes of the runs. */
export function runsRoutes(runs: AllRuns, followed: RunList) {
  return newApi()
    .openapi(list, (context) => {
      const { views } = runs;
      const tags = [...new Set(views.flatMap(({ tags }) => tags))].sort();
      const found = looked(views, context.req.valid("query"));
      return context.json({ runs: found, tags, problem: followed.problem }, 200);
    })
    .openapi(one, (context) => context.json(runs.view(context.req.valid("param").id), 200))
    .openapi(describe, (context) => {
      const { id } = context.req.valid("param");
      if (!context.req.header("content-type")) {
        throw new RequestProblem(415, "Send tags or note in a JSON object, as application/json.");
      }
      changeNotes(requireRun(runs, id).folder, context.req.valid("json"));
      return context.json(runs.view(id), 200);
    })
    .openapi(again, (context) => {
      const { id } = context.req.valid("param");
      const run = requireRun(runs, id);
      const { kind, comparison, ranks } = runs.view(id);
      if (kind === "compare" && !hasShippedArms(run.folder.path)) {
        throw new RequestProblem(
          409,
          "The comparison has arms of its own, which only the command line starts: ./tango compare --config " +
            "FOLDER/config.yaml --arms FOLDER/arms.yaml.",
        );
      }
      // Where it lies and what it wrote is that run's own.
      const { run_directory: _, output_directory: __, ...configuration } =
        configurationInForce(run).configuration;
      const isCompared = kind === "compare" || comparison !== null;
      return context.json({
        kind,
        configuration,
        ...(isCompared || ranks === 1 ? {} : { ranks }),
        ...(kind === "compare" ? { seeds: readSeeds(run.folder.path) } : {}),
      }, 200);
    });
}

type Looked = z.infer<typeof list.request.query>;

function looked(
  views: readonly RunView[],
  { search, tag, state, kind, sort, order }: Looked,
): RunView[] {
  const wanted = search?.toLowerCase();
  const found = views.filter((view) =>
    (wanted === undefined ||
      [view.id, view.note, ...view.tags].some((one) => one.toLowerCase().includes(wanted))) &&
    (tag === undefined || view.tags.includes(tag)) &&
    (state === undefined || view.state === state) &&
    (kind === undefined || view.kind === kind)
  );
  const ascends = (order ?? (sort === "id" || sort === "state" ? "ascending" : "")) === "ascending";
  if (sort === undefined) return ascends ? found.reverse() : found;
  return found.sort((a, b) => compare(a[sort], b[sort]) * (ascends ? 1 : -1));
}

/** Nothing comes before everything. */
function compare(a: string | number | null, b: string | number | null): number {
  if (a === b) return 0;
  return a === null || (b !== null && a < b) ? -1 : 1;
}
