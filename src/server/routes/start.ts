/** Starting a run, and what is needed to decide on one. */

import { z } from "@hono/zod-openapi";
import { join } from "node:path";
import { UserError } from "../../base/user_error.ts";
import { tangoConfigSchema } from "../../run/config/config_schema.ts";
import { sftConfigSchema } from "../../run/config/sft_config_schema.ts";
import { RequestProblem } from "../http/problem.ts";
import { json, jsonBody, route } from "../http/route.ts";
import type { AllowedFolders } from "../launches/allowed_paths.ts";
import type { AllRuns } from "../launches/all_runs.ts";
import type { Launcher } from "../launches/launcher.ts";
import { planMemory, type PlannedMemory } from "../launches/memory_plan.ts";
import { listPresets, presetSchema } from "../launches/presets.ts";
import {
  type PreparedRun,
  prepareRun,
  type RunRequest,
  RunRequestError,
  runRequestSchema,
} from "../launches/run_request.ts";
import { runSchema } from "../runs/run_view.ts";
import { newApi } from "./api.ts";

/** Plans that requests may wait for at a time: each is a process that opens a GPU, one after the other. */
const MOST_PLANS = 4;

const startOf = (request: ReturnType<typeof runRequestSchema>) =>
  route("post", "/api/runs", {
    summary: "Starts a run as soon as its memory is free",
    headers: z.object({
      "idempotency-key": z.string().min(1).max(255).optional().describe(
        "A request that is sent again with the key of an earlier one starts nothing, and is answered as that was.",
      ),
    }),
    body: jsonBody(z.strictObject({
      ...request.shape,
      run: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$/).optional().describe(
        "The name of its folder; left out: the next free one.",
      ),
    })),
    202: json("The run, which waits or is starting.", runSchema),
    refuses: [409, 503],
  });

const use = z.object({ what: z.string(), bytes: z.number() });

const planSchema = z.object({
  peakBytes: z.number(),
  limitBytes: z.number().nullable(),
  resident: z.array(use),
  phases: z.array(use).describe("One after the other, so that the largest counts."),
});

/** What a run would take of a GPU's memory; bytes. */
export type Plan = z.infer<typeof planSchema>;

const planOf = (request: ReturnType<typeof runRequestSchema>) =>
  route("post", "/api/plan", {
    summary: "What a run would take of a GPU's memory",
    body: jsonBody(request),
    200: json("At most.", planSchema),
    refuses: [503],
  });

const presets = route("get", "/api/presets", {
  summary: "Configurations that come with the program",
  200: json(
    "By name.",
    z.object({ presets: z.array(presetSchema) }),
  ),
});

const schema = route("get", "/api/schema", {
  summary: "The JSON schema of a configuration",
  query: z.object({ kind: z.enum(["train", "sft", "compare"]) }),
  200: json(
    "Of what may be written, with defaults and descriptions.",
    z.record(z.string(), z.unknown()),
  ),
});

/** Routes that start runs. */
export function startRoutes(
  runs: AllRuns,
  launcher: Launcher,
  folders: AllowedFolders,
) {
  const { launches, own } = launcher;
  let plans = 0;
  const request = runRequestSchema(listPresets().map(({ name }) => name));
  const prepare = (request: RunRequest): PreparedRun => {
    try {
      return prepareRun(request, own, folders);
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      throw asProblem(error);
    }
  };
  return newApi()
    .openapi(startOf(request), (context) => {
      const key = context.req.valid("header")["idempotency-key"];
      const { run = null, ...request } = context.req.valid("json");
      const text = JSON.stringify({ run, ...request });
      const before = key === undefined ? null : launches.answered(key);
      if (before !== null) {
        const problem = before.request !== text
          ? "This key came with another request before."
          : runs.has(before.run)
          ? null
          : "The run that this key started is removed.";
        if (problem !== null) throw new RequestProblem(409, problem, "idempotency-key");
        return context.json(runs.view(before.run), 202);
      }
      const prepared = prepare(request);
      requireUnplaced(prepared);
      const name = launcher.begin(prepared, run, (name) => {
        if (key !== undefined) launches.answer(key, text, name);
      });
      return context.json(runs.view(name), 202);
    })
    .openapi(planOf(request), async (context) => {
      const asked = context.req.valid("json");
      const prepared = prepare(asked);
      if (plans >= MOST_PLANS) {
        throw new RequestProblem(429, `${plans} plans are being made; try again when one is done.`);
      }
      plans++;
      try {
        const { peakBytes, limitBytes, resident, phases } = await planned(
          prepared,
          asked,
          own,
          context.req.raw.signal,
        );
        return context.json(
          { peakBytes, limitBytes, resident: [...resident], phases: [...phases] },
          200,
        );
      } finally {
        plans--;
      }
    })
    .openapi(presets, (context) => context.json({ presets: listPresets() }, 200))
    .openapi(schema, (context) => {
      const { kind } = context.req.valid("query");
      const found = kind === "sft" ? sftConfigSchema : tangoConfigSchema;
      return context.json(z.toJSONSchema(found, { io: "input", unrepresentable: "any" }), 200);
    });
}

/** @throws RequestProblem of a run that is to be in a folder of its own choice */
function requireUnplaced({ place }: PreparedRun): void {
  if (place === null) return;
  throw new RequestProblem(
    422,
    `run_directory is ${JSON.stringify(place)}, and the server keeps all runs in one folder: ` +
      "leave it out, and name the run with run.",
    "run_directory",
  );
}

async function planned(
  { kind, ranks, written }: PreparedRun,
  { set = [], steps, gpuIndex }: RunRequest,
  own: string,
  signal: AbortSignal,
): Promise<PlannedMemory> {
  const path = join(own, `${crypto.randomUUID()}.yaml`);
  try {
    Deno.writeTextFileSync(path, written);
    return await planMemory({ kind, file: path, set, steps, ranks, gpuIndex }, { signal });
  } catch (error) {
    if (error instanceof UserError) throw asProblem(error);
    throw new RequestProblem(503, error instanceof Error ? error.message : String(error));
  } finally {
    Deno.removeSync(path);
  }
}

/** A line for each thing that is wrong. */
function asProblem(error: UserError): RequestProblem {
  const { message } = error;
  const missing = error instanceof RunRequestError ? error.missing : [];
  const errors = message.split("\n").map((detail) => {
    const remedy = missing.find((one) => one.detail === detail)?.remedy ?? undefined;
    return { detail, field: keyIn(detail), remedy };
  });
  return new RequestProblem(422, message, errors[0].field, {}, errors);
}

/** The configuration key that a message begins with. */
function keyIn(message: string): string | undefined {
  return /^(?:[^\n]*?: )??([a-z]\w*(?:[.[][\w\].[]*)?) (?:is|cannot)\b/.exec(message)?.[1];
}
