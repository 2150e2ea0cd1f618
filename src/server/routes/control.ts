/** What a run is asked. */

import { z } from "@hono/zod-openapi";
import { removeIfPresent } from "../../platform/files/atomic_file.ts";
import { UserError } from "../../base/user_error.ts";
import { changeSftConfig, changeTangoConfig, type Settings } from "../../run/config/changeable.ts";
import { loadSftConfig, loadTangoConfig } from "../../run/config/load_config.ts";
import { RunFolder } from "../../run/store/run_folder.ts";
import { RequestProblem } from "../http/problem.ts";
import { gone, json, jsonBody, route } from "../http/route.ts";
import type { AllRuns } from "../launches/all_runs.ts";
import type { Launcher } from "../launches/launcher.ts";
import { checkRanks, checkSeeds, seedsSchema } from "../launches/run_request.ts";
import type { Steering } from "../launches/steering.ts";
import { isGoing, runSchema, type RunView } from "../runs/run_view.ts";
import { newApi, runParameter } from "./api.ts";

const ACTIONS = {
  pause: "Lets the run wait after the present step",
  "go-on": "Lets a paused run go on",
  checkpoint: "Writes a checkpoint after the present step",
  stop: "Ends the run after the present step, with a checkpoint",
  kill: "Ends the run's processes at once; a waiting one leaves the queue",
} as const;

const settingsSchema = z.record(
  z.string().max(200),
  z.union([z.string().max(200), z.number()]),
);

/** What a run is gone on with. */
const resumedSchema = z.strictObject({
  ranks: z.int().min(1).max(64).optional().describe("Left out: as many as before."),
  seeds: seedsSchema.optional().describe("Of a comparison, all of them; left out: those it has."),
  settings: settingsSchema.optional().describe("What changes, such as a lower learning rate."),
});

const resume = route("post", "/api/runs/{id}/resume", {
  summary: "Goes on with a run that has ended, from its newest checkpoint",
  params: runParameter,
  body: { required: false, content: { "application/json": { schema: resumedSchema } } },
  202: json("The run as it is: it waits or is starting.", runSchema),
  refuses: [404, 409, 503],
});

const actionRoute = <Action extends keyof typeof ACTIONS>(action: Action) =>
  route("post", `/api/runs/{id}/${action}` as const, {
    summary: ACTIONS[action],
    params: runParameter,
    202: json("The run as it is: its state changes when it has done so.", runSchema),
    refuses: [404, 409, 503],
  });

const settings = route("patch", "/api/runs/{id}/settings", {
  summary: "Changes settings of a run that goes on, from its next step",
  params: runParameter,
  body: jsonBody(
    settingsSchema
      .refine((keys) => Object.keys(keys).length > 0, "expected at least one setting")
      .openapi({ example: { "generator.optimizer.learning_rate": 1e-5 }, minProperties: 1 }),
  ),
  200: json("The run has taken them.", runSchema),
  202: json("The run will take them between two steps.", runSchema),
  refuses: [404, 409],
});

const remove = route("delete", "/api/runs/{id}", {
  summary: "Removes a run that has ended, with all files in its folder, or one that never began",
  params: runParameter,
  ...gone,
  refuses: [404, 409],
});

/** Routes that steer runs. */
export function controlRoutes(runs: AllRuns, launcher: Launcher, steering: Steering) {
  const { list } = launcher;
  const act = (action: keyof typeof ACTIONS, run: RunView): void => {
    requireOwn(run);
    if (run.state !== "waiting" && !isGoing(run.state)) {
      throw new RequestProblem(409, `The run is not going on: it is ${run.state}.`);
    }
    if (run.state === "waiting" && action !== "stop" && action !== "kill") {
      throw new RequestProblem(
        409,
        `The run waits in the queue: ${action} is for one that has begun, stop takes it out.`,
      );
    }
    if (action === "kill" || run.state === "waiting") return launcher.kill(run.id);
    steering.ask(run.id, { request: action === "go-on" ? "goOn" : action });
    if (action === "stop") launcher.stopAsked(run.id);
  };
  const goOn = (
    run: RunView,
    { ranks = run.ranks, seeds, settings }: z.infer<typeof resumedSchema>,
  ): void => {
    requireOwn(run);
    if (run.state === "waiting" || isGoing(run.state)) {
      throw new RequestProblem(409, `The run is ${run.state}.`);
    }
    if (!RunFolder.at(run.folder).isUsed) {
      throw new RequestProblem(409, "The run never began: start another.");
    }
    checked("ranks", () => checkRanks(run.kind, ranks));
    checked("seeds", () => checkSeeds(run.kind, seeds));
    if (settings !== undefined) checked("settings", () => checkSettings(run, settings));
    launcher.resume(run.id, run.kind, { ranks, seeds, settings });
  };
  const acted = (action: keyof typeof ACTIONS, id: string): RunView => {
    act(action, runs.view(id));
    return runs.view(id);
  };
  return newApi()
    .openapi(actionRoute("pause"), (context) => {
      return context.json(acted("pause", context.req.valid("param").id), 202);
    })
    .openapi(actionRoute("go-on"), (context) => {
      return context.json(acted("go-on", context.req.valid("param").id), 202);
    })
    .openapi(actionRoute("checkpoint"), (context) => {
      return context.json(acted("checkpoint", context.req.valid("param").id), 202);
    })
    .openapi(actionRoute("stop"), (context) => {
      return context.json(acted("stop", context.req.valid("param").id), 202);
    })
    .openapi(actionRoute("kill"), (context) => {
      return context.json(acted("kill", context.req.valid("param").id), 202);
    })
    .openapi(resume, (context) => {
      const { id } = context.req.valid("param");
      goOn(runs.view(id), context.req.valid("json") ?? {});
      return context.json(runs.view(id), 202);
    })
    .openapi(settings, async (context) => {
      const { id } = context.req.valid("param");
      const { state } = requireOwn(runs.view(id));
      const run = list.find(id);
      if (run === null || !isGoing(state)) {
        throw new RequestProblem(409, `The run is not going on: it is ${state}.`);
      }
      const isTaken = await steering.change(run, context.req.valid("json"));
      return context.json(runs.view(id), isTaken ? 200 : 202);
    })
    .openapi(remove, async (context) => {
      const { id } = context.req.valid("param");
      requireOwn(runs.view(id));
      // It may have begun in a terminal a moment ago.
      await list.catchUp(id);
      const { state, folder } = runs.view(id);
      if (isGoing(state)) {
        throw new RequestProblem(409, `The run is ${state}: stop it first.`);
      }
      if (state === "waiting" && RunFolder.at(folder).isUsed) {
        throw new RequestProblem(
          409,
          "The run waits to be gone on with: stop it first, which takes it out of the queue.",
        );
      }
      launcher.forget(id);
      const run = list.find(id);
      if (run) removeIfPresent(run.folder.path);
      await list.catchUp(id);
      return context.body(null, 204);
    });
}

/** @throws RequestProblem of a run that a comparison does */
function requireOwn(run: RunView): RunView {
  if (run.comparison === null) return run;
  throw new RequestProblem(
    409,
    `It is a run of the comparison ${run.comparison}: ask for that one.`,
  );
}

/** @throws UserError of settings that cannot change, or do not fit */
function checkSettings({ kind, folder }: RunView, settings: Settings): void {
  const file = RunFolder.at(folder).configuration;
  if (kind === "train") changeTangoConfig(loadTangoConfig(file), settings);
  else if (kind === "sft") changeSftConfig(loadSftConfig(file), settings);
  else {
    throw new UserError(
      "All runs of a comparison have one configuration: begin another with other settings.",
    );
  }
}

/** @throws RequestProblem naming the field in place of a UserError */
function checked(field: string, check: () => void): void {
  try {
    check();
  } catch (error) {
    if (error instanceof UserError) throw new RequestProblem(422, error.message, field);
    throw error;
  }
}
