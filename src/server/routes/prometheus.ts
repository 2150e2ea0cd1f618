/** What an alert goes by, in Prometheus's text format. */

import { type OpenAPIHono, z } from "@hono/zod-openapi";
import { METRIC } from "../../run/store/metric_names.ts";
import { route } from "../http/route.ts";
import { lastValue } from "../index/read_metrics.ts";
import type { AllRuns } from "../launches/all_runs.ts";
import type { RunList } from "../runs/run_list.ts";
import { runStateSchema, type RunView } from "../runs/run_view.ts";
import type { ServedState } from "../serving/messages.ts";
import type { ServedModels } from "../serving/served_models.ts";
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
  ...["sft", "generator", "verifier"].flatMap((policy) =>
    ["grad_norm", "skipped_updates", "learning_rate"].map((name) => `${policy}/${name}`)
  ),
  ...["generator", "verifier"].flatMap((policy) =>
    ["policy_loss", "entropy", "kl"].map((name) => `${policy}/${name}`)
  ),
];

/** Of a model's process. */
const LONGEST_LOOK_MS = 2000;

const GOING: readonly RunView["state"][] = ["starting", "running", "paused", "stopping"];

const metrics = route("get", "/metrics", {
  summary: "For Prometheus: states of all runs, and the last values of those that go on",
  200: { description: "Text format 0.0.4.", content: { "text/plain": { schema: z.string() } } },
});

/** The route that Prometheus reads. */
export function prometheusRoutes(
  runs: AllRuns,
  list: RunList,
  served: ServedModels,
): OpenAPIHono {
  const api = newApi();
  api.openapi(metrics, async (context) => {
    const views = runs.views;
    const going = views.filter(({ state }) => GOING.includes(state));
    const text = [
      family("tango_run_state", "1 for the state that a run is in.", stateSamples(views)),
      family("tango_index_behind", "1 when the server cannot follow the runs.", [
        ["", Number(list.problem !== null)],
      ]),
      family("tango_step", "Steps done.", going.map((run) => [labels(run), run.step])),
      family(
        "tango_steps_planned",
        "Steps in all.",
        going.map((run) => [labels(run), run.totalSteps]),
      ),
      family(
        "tango_seconds_left",
        "To the last step.",
        numbers(going, ({ secondsLeft }) => secondsLeft),
      ),
      family(
        "tango_memory_planned_bytes",
        "GPU memory at most.",
        numbers(going, ({ memory }) => memory?.planned ?? null),
      ),
      family(
        "tango_memory_live_bytes",
        "GPU memory that the run has taken now.",
        numbers(going, ({ memory }) => memory?.live ?? null),
      ),
      family(
        "tango_last_step_timestamp_seconds",
        "When the last step was done.",
        numbers(going, ({ id }) => secondsOf(list.find(id)?.indexed.progress.part?.steppedAt)),
      ),
      ...LAST.map((name) =>
        family(
          `tango_${name.replaceAll(/[^a-zA-Z0-9]/g, "_")}`,
          `${name} of the last step that has it.`,
          numbers(going, ({ id }) => {
            const run = list.find(id);
            return run && lastValue(list.index, run.indexed.id, name);
          }),
        )
      ),
      ...await servedFamilies(served),
    ].join("");
    return context.text(text, 200, { "content-type": "text/plain; version=0.0.4; charset=utf-8" });
  });
  return api;
}

/** Of the models that clients ask. */
async function servedFamilies(served: ServedModels): Promise<string[]> {
  const own = served.all.filter(({ adapter }) => adapter === null);
  const states = await Promise.all(own.map(({ model }) => soon(model.look())));
  const each = (value: (state: ServedState) => number) =>
    own.flatMap(({ name }, i): LabelledValue[] => {
      const state = states[i];
      return state === null ? [] : [[labelled({ model: name }), value(state)]];
    });
  return [
    family(
      "tango_model_responses",
      "Responses that are asked for and have not ended.",
      own.map(({ name, model }) => [labelled({ model: name }), model.pending]),
    ),
    family(
      "tango_model_responses_waiting",
      "Of those, the ones that wait for a slot.",
      own.map(({ name, model }) => [labelled({ model: name }), model.waiting]),
    ),
    family("tango_model_cache_pages", "Pages of the cache.", each(({ pages }) => pages)),
    family(
      "tango_model_cache_pages_available",
      "Pages that no response has.",
      each(({ availablePages }) => availablePages),
    ),
    family("tango_model_adapters_trained", "Adapters in training.", each(({ trained }) => trained)),
    family(
      "tango_model_adapters_sampled",
      "Adapters on the GPU to be sampled from.",
      each(({ sampled }) => sampled),
    ),
    family("tango_model_memory_bytes", "GPU memory.", each(({ memoryBytes }) => memoryBytes)),
  ];
}

/** What a process tells, unless it is too late or it has ended. */
async function soon<Value>(told: Promise<Value | null>): Promise<Value | null> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<null>((resolve) => {
    timer = setTimeout(resolve, LONGEST_LOOK_MS, null);
  });
  try {
    return await Promise.race([told.catch(() => null), late]);
  } finally {
    clearTimeout(timer);
  }
}

type LabelledValue = readonly [labels: string, value: number];

function family(name: string, help: string, samples: readonly LabelledValue[]): string {
  if (samples.length === 0) return "";
  const lines = samples.map(([labels, value]) => `${name}${labels} ${value}\n`);
  return `# HELP ${name} ${help}\n# TYPE ${name} gauge\n${lines.join("")}`;
}

function stateSamples(views: readonly RunView[]): LabelledValue[] {
  return views.flatMap((run) =>
    runStateSchema.options.map((state): LabelledValue => [
      labels(run, { state }),
      Number(run.state === state),
    ])
  );
}

function numbers(
  views: readonly RunView[],
  value: (run: RunView) => number | null,
): LabelledValue[] {
  return views.flatMap((run): LabelledValue[] => {
    const found = value(run);
    return found === null ? [] : [[labels(run), found]];
  });
}

function labels({ id, kind }: RunView, others: Readonly<Record<string, string>> = {}): string {
  return labelled({ run: id, kind, ...others });
}

function labelled(all: Readonly<Record<string, string>>): string {
  const escaped = (text: string) =>
    text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
  const pairs = Object.entries(all)
    .map(([name, value]) => `${name}="${escaped(value)}"`);
  return `{${pairs.join(",")}}`;
}

function secondsOf(time: string | null | undefined): number | null {
  return time == null ? null : Date.parse(time) / 1000;
}
