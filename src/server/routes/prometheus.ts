/** What an alert goes by, in Prometheus's text format. */

import { type OpenAPIHono, z } from "@hono/zod-openapi";
import { within } from "../../base/within.ts";
import { METRIC } from "../../run/store/metric_names.ts";
import { route } from "../http/route.ts";
import { lastValue } from "../index/read_metrics.ts";
import type { AllRuns } from "../launches/all_runs.ts";
import type { ListedRun, RunList } from "../runs/run_list.ts";
import { isGoing, runStateSchema, type RunView } from "../runs/run_view.ts";
import type { ServedState } from "../serving/messages.ts";
import type { Served, ServedModels } from "../serving/served_models.ts";
import { newApi } from "./api.ts";

/** Metrics of a run's last step that has them. */
const LAST: readonly string[] = [
  METRIC.supervisedLoss,
  METRIC.heldOutLoss,
  METRIC.generatorReward,
  METRIC.verifierReward,
  METRIC.logProbDifference,
  METRIC.tokensPerSecond,
  METRIC.stepSeconds,
  METRIC.generatorAccuracy,
  METRIC.verifierBalancedAccuracy,
  METRIC.verifierStepBalancedAccuracy,
  ...["sft", "generator", "verifier"].flatMap((policy) =>
    ["grad_norm", "skipped_updates", "learning_rate"].map((name) => `${policy}/${name}`)
  ),
  ...["generator", "verifier"].flatMap((policy) =>
    ["policy_loss", "entropy", "kl"].map((name) => `${policy}/${name}`)
  ),
];

/** Waiting for what a model's process tells. */
const LONGEST_LOOK_MS = 2000;

/** A number that each of some things may have: its name after `tango_`, its help, and where it is. */
type Gauge<Of> = readonly [
  name: string,
  help: string,
  value: (of: Of) => number | null | undefined,
];

/** A run that goes on. */
interface GoingRun {
  readonly view: RunView;
  readonly list: RunList;
  /** Null: its folder is not there yet. */
  readonly listed: ListedRun | null;
}

const OF_RUNS: readonly Gauge<GoingRun>[] = [
  ["step", "Steps done.", ({ view }) => view.step],
  ["steps_planned", "Steps in all.", ({ view }) => view.totalSteps],
  ["seconds_left", "To the last step.", ({ view }) => view.secondsLeft],
  ["memory_planned_bytes", "GPU memory at most.", ({ view }) => view.memory?.planned],
  [
    "memory_live_bytes",
    "GPU memory that the run has taken now.",
    ({ view }) => view.memory?.live,
  ],
  [
    "last_step_timestamp_seconds",
    "When the last step was done.",
    ({ listed }) => secondsOf(listed?.indexed.progress.part?.steppedAt),
  ],
  ...LAST.map((name): Gauge<GoingRun> => [
    name.replaceAll(/[^a-zA-Z0-9]/g, "_"),
    `${name} of the last step that has it.`,
    ({ list, listed }) => listed && lastValue(list.index, listed.indexed.id, name),
  ]),
];

/** A model that clients ask. */
interface AskedModel extends Pick<Served, "name" | "model"> {
  /** Null: its process is late, or has ended. */
  readonly state: ServedState | null;
}

const OF_MODELS: readonly Gauge<AskedModel>[] = [
  ["responses", "Responses that are asked for and have not ended.", ({ model }) => model.pending],
  ["responses_waiting", "Of those, the ones that wait for a slot.", ({ model }) => model.waiting],
  ["cache_pages", "Pages of the cache.", ({ state }) => state?.pages],
  ["cache_pages_available", "Pages that no response has.", ({ state }) => state?.availablePages],
  ["adapters_trained", "Adapters in training.", ({ state }) => state?.trained],
  ["adapters_sampled", "Adapters on the GPU to be sampled from.", ({ state }) => state?.sampled],
  ["memory_bytes", "GPU memory.", ({ state }) => state?.memoryBytes],
];

const metrics = route("get", "/metrics", {
  summary: "For Prometheus: states of all runs, and the last values of those that go on",
  200: { description: "Text format 0.0.4.", content: { "text/plain": { schema: z.string() } } },
});

/** The route that Prometheus reads. */
export function prometheusRoutes(runs: AllRuns, list: RunList, served: ServedModels): OpenAPIHono {
  const api = newApi();
  api.openapi(metrics, async (context) => {
    const { views } = runs;
    const states = views.flatMap((run) => runStateSchema.options.map((state) => ({ run, state })));
    const going = views.filter(({ state }) => isGoing(state))
      .map((view): GoingRun => ({ view, list, listed: list.find(view.id) }));
    const ofRuns = [
      family(
        [
          "run_state",
          "1 for the state that a run is in.",
          (of) => Number(of.run.state === of.state),
        ],
        states,
        ({ run: { id, kind }, state }) => ({ run: id, kind, state }),
      ),
      family(
        [
          "index_behind",
          "1 when the server cannot follow the runs.",
          (of) => Number(of.problem !== null),
        ],
        [list],
        () => ({}),
      ),
      ...OF_RUNS.map((gauge) =>
        family(gauge, going, ({ view: { id, kind } }) => ({ run: id, kind }))
      ),
    ];
    const models = await Promise.all(
      served.all.filter(({ adapter }) => adapter === null)
        .map(async ({ name, model }) => {
          const told = model.look().catch(() => null); // its process may have ended
          return { name, model, state: await within(told, LONGEST_LOOK_MS) };
        }),
    );
    const ofModels = OF_MODELS.map(([name, ...gauge]) =>
      family([`model_${name}`, ...gauge], models, ({ name }) => ({ model: name }))
    );
    const text = [...ofRuns, ...ofModels].join("");
    return context.text(text, 200, { "content-type": "text/plain; version=0.0.4; charset=utf-8" });
  });
  return api;
}

/** The lines of a gauge; none where nothing has it. */
function family<Of>(
  [name, help, value]: Gauge<Of>,
  things: readonly Of[],
  labelsOf: (of: Of) => Readonly<Record<string, string>>,
): string {
  const lines = things.flatMap((of) => {
    const found = value(of);
    return found == null ? [] : [`tango_${name}${labelled(labelsOf(of))} ${found}\n`];
  });
  if (lines.length === 0) return "";
  return `# HELP tango_${name} ${help}\n# TYPE tango_${name} gauge\n${lines.join("")}`;
}

function labelled(labels: Readonly<Record<string, string>>): string {
  const escaped = (text: string) =>
    text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value)}"`);
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

function secondsOf(time: string | null | undefined): number | null {
  return time == null ? null : Date.parse(time) / 1000;
}
