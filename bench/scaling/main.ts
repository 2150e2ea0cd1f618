/**
 * Ranks on this machine's cores, each with one thread of a software driver: what they take, how long they wait, and
 * how far off the plan is. Start it where nothing else runs; it takes some minutes:
 *
 *     deno run -A bench/scaling/main.ts [--steps 12] [--folder runs/scaling]
 *
 * Prints two tables, and leaves a timeline of every run in its folder.
 */

import { join } from "node:path";
import { parseArgs } from "node:util";
import { stringify } from "yaml";
import { alignedTable } from "../../src/base/table.ts";
import { Gpu } from "../../src/gpu/gpu.ts";
import { loadTangoConfig } from "../../src/run/config/load_config.ts";
import { loadGpuDescription } from "../../src/run/plan/gpu_description.ts";
import { readMeasuredRun } from "../../src/run/plan/measured_run.ts";
import { planRun } from "../../src/run/plan/planned_policies.ts";
import type { PlannedPlacement } from "../../src/run/plan/planned_run.ts";
import { predict } from "../../src/run/plan/prediction.ts";
import { readJsonLines } from "../../src/run/store/json_lines_log.ts";
import type { MetricsLine } from "../../src/run/store/metrics_log.ts";
import { RunFolder } from "../../src/run/store/run_folder.ts";

const { values: options } = parseArgs({
  args: Deno.args,
  options: {
    steps: { type: "string", default: "12" },
    folder: { type: "string", default: "runs/scaling" },
  },
});

interface Measured {
  readonly name: string;
  readonly placement: PlannedPlacement;
  readonly set: readonly string[];
}

const ranksOf = (placement: PlannedPlacement) =>
  placement.kind === "colocated" ? placement.ranks : placement.generator + placement.verifier;
const colocated = (ranks: number): Measured => ({
  name: `${ranks} colocated`,
  placement: { kind: "colocated", ranks },
  set: [],
});
const split = (generator: number, verifier: number): Measured => ({
  name: `${generator} + ${verifier} split`,
  placement: { kind: "split", generator, verifier },
  set: [
    `placement={generator: "0-${generator - 1}", verifier: "${generator}-${
      generator + verifier - 1
    }"}`,
  ],
});
const measured = [colocated(1), colocated(2), colocated(4), split(2, 2), split(1, 3)];

const cores = navigator.hardwareConcurrency;
const env = { LP_NUM_THREADS: "1" };
/** Warm-ups without a verifier would be another kind of step. */
const settings = [
  "reduction.shards=4",
  "schedule.generator_warmup_steps=0",
  "schedule.verifier_warmup_steps=0",
  "schedule.test_frequency=0",
  "schedule.save_frequency=0",
];

async function tango(...args: string[]): Promise<void> {
  const command = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "src/cli/main.ts", ...args],
    env,
  });
  const { success } = await command.spawn().status;
  if (!success) throw new Error(`${args.join(" ")} failed`);
}

/** What the steps of a run took; the first of each kind is left out, kernels are compiled in it. */
function readSteps(folder: RunFolder): MetricsLine[] {
  const lines = readJsonLines<MetricsLine>(folder.timings);
  const first = new Set(
    ["generator", "verifier"].map((phase) => lines.find((line) => line.phase === phase)?.step),
  );
  return lines.filter(({ step }) => !first.has(step));
}

const mean = (values: readonly number[]) => values.reduce((sum, v) => sum + v, 0) / values.length;
const of = (lines: readonly MetricsLine[], name: string) =>
  mean(lines.map((line) => Number(line[name] ?? 0)));
const percent = (share: number) => `${(100 * share).toFixed(0)} %`;

Deno.mkdirSync(options.folder, { recursive: true });
await tango("bench", "--seconds", "0.2", "--json", join(options.folder, "rates.json"));

const throughput = [["ranks", "step", "tokens/s", "to one rank", "idle", "sent in a step"]];
const errors = [["ranks", "step", "predicted", "measured", "error"]];
let alone = 0;
for (const { name, placement, set } of measured) {
  const ranks = ranksOf(placement);
  const folder = RunFolder.at(join(options.folder, name.replaceAll(/\W+/g, "-")));
  const sets = [...settings, ...set].flatMap((one) => ["--set", one]);
  const together = ranks > 1 ? ["--ranks", String(ranks)] : [];
  const size = ["--steps", options.steps, "--run", folder.path, "--trace"];
  await tango("train", ...size, ...together, ...sets);
  const steps = readSteps(folder);
  const rate = mean(steps.map((line) => Number(line["perf/tokens_per_second"])));
  if (ranks === 1) alone = rate;
  throughput.push([
    name,
    `${of(steps, "perf/step_seconds").toFixed(2)} s`,
    rate.toFixed(0),
    (rate / alone).toFixed(2),
    percent(of(steps, "perf/idle_share")),
    `${(of(steps, "perf/bytes_sent") / ranks / 1e6).toFixed(1)} MB`,
  ]);
  const description = join(options.folder, `${ranks}.yaml`);
  Deno.writeTextFileSync(
    description,
    stringify({
      name: `one thread on ${cores} cores`,
      source: "measured by bench/scaling",
      memory_gb: 8,
      bench: "rates.json",
      // A core for each rank while there are enough.
      shared_by: Math.ceil(ranks / cores),
      host_gbps: 5,
      machine: { gpus: 64, gbps: 1, latency_microseconds: 2000 },
      network: { gbps: 1, latency_microseconds: 2000 },
      disk_gbps: 0.5,
    }),
  );
  const gpu = loadGpuDescription(description);
  const found = readMeasuredRun(folder);
  const config = loadTangoConfig(folder.configuration, { set: ["placement=null"] });
  const run = await planRun(Gpu.rehearsalOf(gpu.info, gpu.limits), config, found.means);
  const { generatorStep, verifierStep } = predict(gpu, run, placement);
  for (
    const [kind, predicted, took] of [
      ["generator", generatorStep, found.generatorStep],
      ["verifier", verifierStep, found.verifierStep],
    ] as const
  ) {
    if (!predicted || !took) continue;
    errors.push([
      name,
      kind,
      `${predicted.seconds.toFixed(2)} s`,
      `${took.seconds.toFixed(2)} s`,
      percent(predicted.seconds / took.seconds - 1),
    ]);
  }
}
console.log(`\n${alignedTable(throughput)}\n\n${alignedTable(errors)}`);
// Exits even while a GPU engine keeps timers alive.
Deno.exit(0);
