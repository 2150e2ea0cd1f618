/**
 * What watching costs: a run that trains, on the same machine as the server and all who ask it. Start it where nothing
 * else runs; it takes some minutes:
 *
 *     deno run -A bench/server/main.ts [--rows 1000000] [--seconds 15] [--rounds 6]
 *
 * `--only ARM` takes one of `arms.ts` alone, `--keep` the run of before, `--profile FOLDER` leaves V8's profile there.
 *
 * Makes a run with so many rows of metrics, starts `tango serve` on it, reads each curve once and starts a small real
 * training run. In turns nobody watches, one page does, and crowds do; each turn takes so many seconds. Prints what the
 * server and the askers take of the processor, how long reads of metrics take, and what a training step takes relative
 * to the turns without watchers before and after; at the end whether each watcher was told each event exactly once.
 */

import { join } from "node:path";
import { parseArgs } from "node:util";
import { alignedTable } from "../../src/base/table.ts";
import { RunFolder } from "../../src/run/store/run_folder.ts";
import { ARMS, NOBODY } from "./arms.ts";
import { Askers } from "./askers.ts";
import { startTango, stopTango } from "./processes.ts";
import { cpuSeconds } from "./cpu_seconds.ts";
import { median, percentile } from "./statistics.ts";
import { StepTimes } from "./step_times.ts";
import { writeManyRows } from "./many_rows.ts";

const { values: options } = parseArgs({
  args: Deno.args,
  options: {
    rows: { type: "string", default: "1000000" },
    seconds: { type: "string", default: "15" },
    rounds: { type: "string", default: "6" },
    folder: { type: "string", default: "runs/load" },
    keep: { type: "boolean", default: false },
    only: { type: "string", multiple: true },
    profile: { type: "string" },
  },
});
const arms = ARMS.filter(({ name }) => options.only?.includes(name) ?? true);
const pause = (seconds: number) => new Promise((resolve) => setTimeout(resolve, 1000 * seconds));

Deno.mkdirSync(options.folder, { recursive: true });
const rows = Number(options.rows);
const written = writeManyRows(join(options.folder, "many"), rows, options.keep);
const began = performance.now();
const server = await startTango(
  ["serve", "--port", "0", "--runs", options.folder],
  /http:\/\/[\d.:]+/,
  options.profile,
);
const url = server.printed;
while (!await hasRow(written.lastStep)) await pause(0.2);
if (!options.keep) {
  console.log(`${rows} rows are in the index after ${seconds(performance.now() - began)}`);
}

const first = [];
for (const name of written.names) {
  const begin = performance.now();
  const query = new URLSearchParams({ names: name });
  await (await fetch(`${url}/api/runs/many/metrics?${query}`)).arrayBuffer();
  first.push(performance.now() - begin);
}
console.log(`A curve is read for the first time in ${median(first).toFixed(0)} ms`);

const folder = RunFolder.at(join(options.folder, "trained"));
if (folder.isUsed) Deno.removeSync(folder.path, { recursive: true });
// Steps of one kind and size.
const sets = [
  ...["schedule.generator_warmup_steps=1000000", "schedule.test_frequency=0"],
  ...["schedule.save_frequency=0", "generator.optimizer.learning_rate=0.000000001"],
];
const training = await startTango(
  [
    ...["train", "--run", folder.path, "--steps", "1000000"],
    ...sets.flatMap((set) => ["--set", set]),
  ],
  /·/,
);
const steps = new StepTimes(folder);
while (steps.count < 5) await pause(0.5);

const askers = await Askers.start(url, "many", "trained", written);
interface Turn {
  readonly arm: string;
  readonly stepSeconds: number;
  readonly server: number;
  readonly askers: number;
}
const turns: Turn[] = [];
const reads = new Map<string, number[]>();

async function turn(arm: typeof ARMS[number]): Promise<void> {
  await askers.become(arm);
  // Those who have just come are told what they missed.
  await pause(2);
  await askers.takeReads();
  const before = [cpuSeconds(server.pid), cpuSeconds(askers.pid)];
  const from = Date.now();
  await pause(Number(options.seconds));
  const to = Date.now();
  const took = [cpuSeconds(server.pid), cpuSeconds(askers.pid)]
    .map((after, index) => (after - before[index]) / ((to - from) / 1000));
  const found = await askers.takeReads();
  reads.set(arm.name, [...reads.get(arm.name) ?? [], ...found]);
  await pause(0.5); // the last events are written
  turns.push({
    arm: arm.name,
    stepSeconds: steps.mean(from, to),
    server: took[0],
    askers: took[1],
  });
}

for (let round = 0; round < Number(options.rounds); round++) {
  for (const arm of arms) {
    await turn(NOBODY);
    await turn(arm);
  }
}
await turn(NOBODY);

const table = [[
  ...["", "server's CPU", "askers' CPU", "step", "relative", "reads/s", "p50", "p95", "largest"],
]];
for (const arm of [NOBODY, ...arms]) {
  const ofArm = turns.filter((one) => one.arm === arm.name);
  const ratios = turns.flatMap((one, index) =>
    one.arm !== arm.name || arm === NOBODY
      ? []
      : [one.stepSeconds / ((turns[index - 1].stepSeconds + turns[index + 1].stepSeconds) / 2)]
  ).filter((ratio) => !Number.isNaN(ratio)); // a turn may be too short for two steps
  const taken = reads.get(arm.name) ?? [];
  const ms = (value: number) => taken.length === 0 ? "" : `${value.toFixed(1)} ms`;
  table.push([
    arm.name,
    `${(100 * median(ofArm.map(({ server }) => server))).toFixed(1)} %`,
    `${(100 * median(ofArm.map(({ askers }) => askers))).toFixed(1)} %`,
    `${median(ofArm.map(({ stepSeconds }) => stepSeconds)).toFixed(3)} s`,
    ratios.length === 0
      ? ""
      : `${median(ratios).toFixed(3)} (${
        ratios.map((ratio) => ratio.toFixed(3)).sort().join(" ")
      })`,
    (taken.length / ofArm.length / Number(options.seconds)).toFixed(1),
    ms(percentile(taken, 0.5)),
    ms(percentile(taken, 0.95)),
    ms(Math.max(...taken)),
  ]);
}
await stopTango(training);
console.log(`\n${alignedTable(table)}\n`);
console.log(await askers.end(steps.events));
await stopTango(server);

async function hasRow(step: number): Promise<boolean> {
  const answer = await fetch(`${url}/api/runs/many/metrics?names=x&points=1&from=${step}`);
  const { steps } = await answer.json();
  return steps?.at(-1) === step;
}

function seconds(milliseconds: number): string {
  return `${(milliseconds / 1000).toFixed(1)} s`;
}
