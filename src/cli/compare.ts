/** `deno task compare`: arms of one configuration beside each other. */

import { type Command, InvalidArgumentError } from "commander";
import { Failure } from "../base/failure.ts";
import { UserError } from "../base/user_error.ts";
import { describeDevice } from "../gpu/describe_device.ts";
import type { Gpu } from "../gpu/gpu.ts";
import { type Arm, DEFAULT_ARMS, loadArms } from "../run/compare/arms.ts";
import {
  comparisonFiles,
  createComparison,
  openComparison,
  type StoredComparison,
  writeSeeds,
} from "../run/compare/comparison_folder.ts";
import {
  type ComparisonOptions,
  runComparison,
  runElsewhere,
  runHere,
} from "../run/compare/comparison_session.ts";
import type { DivergedRun } from "../run/compare/comparison_report.ts";
import { DEFAULT_SEEDS, parseSeeds, seedsProblem } from "../run/compare/seeds.ts";
import { requireNotRunning } from "../run/control/endpoint/control_file.ts";
import { loadBaseConfig } from "../run/config/load_config.ts";
import { problemsName } from "../run/problems/open_problems.ts";
import { latestRunDirectory, nextRunDirectory, RunFolder } from "../run/store/run_folder.ts";
import { openReward } from "../run/tango/custom_reward.ts";
import { addExamples } from "./examples.ts";
import { FollowedRun } from "./followed_run.ts";
import { describeTangoSteps } from "./progress/tango_progress.ts";
import {
  addSeedlessConfigOptions,
  type ConfigOptions,
  DEFAULT_CONFIG,
  parseCount,
  parseNumber,
  refuseWithResume,
  resumeOption,
} from "./run_options.ts";
import { withResumeHint } from "./resume_hint.ts";
import { gpuOf, withGpu } from "./with_gpu.ts";
import { settlePrecision } from "../run/tuning/settled_precision.ts";

interface CompareOptions extends ConfigOptions {
  readonly arms: string;
  readonly seeds?: readonly number[];
  readonly problems?: number;
  readonly target?: number;
  readonly baseline?: string;
  readonly jobs: number;
  readonly resume?: boolean;
}

/** Adds the command. */
export function register(program: Command): void {
  const command = addSeedlessConfigOptions(program.command("compare"), DEFAULT_CONFIG)
    .description(
      "Trains arms, which are named changes of one configuration, over the same seeds, and compares them at " +
        "equal generator steps and at equal training seconds.",
    )
    .option("--arms <file>", "the arms, each with its settings, in YAML", DEFAULT_ARMS)
    .option(
      "--seeds <number or list>",
      `how many seeds, from 0 on, or which ones: 4,7 (default: ${DEFAULT_SEEDS.length})`,
      seedsOf,
    )
    .option(
      "--problems <number>",
      "held-out problems of every evaluation, as evaluation.problems",
      parseCount,
    )
    .option(
      "--target <accuracy>",
      "also tell steps and minutes to this accuracy, from 0 to 1",
      parseTarget,
    )
    .option("--baseline <arm>", "the arm that others are set beside (default: the first)")
    .option("--jobs <number>", "runs that go on at once, each in a process", parseCount, 1)
    .addOption(resumeOption())
    .action(compare);
  addExamples(command, {
    "deno task compare":
      "Tango and its two baselines over three seeds; --steps counts those of Tango",
    "deno task compare --arms configs/arms/method.yaml --seeds 12 --baseline grpo --target 0.6":
      "every shipped arm over seeds 0 to 11, set beside GRPO alone",
    "deno task compare --resume": "goes on with the newest comparison; finished runs are kept",
    "deno task compare --resume --seeds 0,1,2,3": "adds a seed to it",
  });
}

async function compare(options: CompareOptions, command: Command): Promise<void> {
  const { path, ...comparison } = options.resume ? reopen(options, command) : await plan(options);
  const { base, arms, seeds } = comparison;
  const report = {
    baseline: baselineOf(options, arms),
    target: options.target ?? null,
    jobs: options.jobs,
  };
  const modules = new Set(arms.map(({ config }) => config.rewards.module));
  for (const module of modules) await openReward(module); // said before anything is loaded
  using followed = new FollowedRun(describeTangoSteps, "step");
  const { events, control, endpoint } = followed;
  events.listen((event) => {
    if (event.type !== "comparedRun") return;
    console.log(`${event.number}/${event.total}: ${event.method}, seed ${event.seed}`);
  });
  const tell = (line: string) => console.log(line);
  const run = async (
    device: string,
    how: Pick<ComparisonOptions, "doRun" | "pool">,
  ) => {
    if (options.resume) writeSeeds(path, seeds);
    else createComparison(path, comparison);
    const names = arms.map(({ name }) => name).join(", ");
    tell(
      `comparison on ${problemsName(base)}: ${names} · seeds ${
        seeds.join(", ")
      } · ${device} · ${path}`,
    );
    return await runComparison(comparison, path, { ...report, ...how, events, control, endpoint });
  };
  const { gpuIndex, jobs } = options;
  const here = async (gpu: Gpu) =>
    await run(describeDevice(gpu.info), {
      doRun: runHere(gpu, { events, control, tell, tuning: base.tuning }),
      pool: gpu.pool,
    });
  const elsewhere = () =>
    run(`${jobs} processes`, { doRun: runElsewhere(PROGRAM, control, gpuIndex) });
  const { isDone, table, diverged } = await withResumeHint(
    "compare",
    RunFolder.at(path),
    () => jobs === 1 ? withGpu(gpuOf(base, gpuIndex), here) : elsewhere(),
  );
  if (table !== null) console.log(`\n${table}\n\nreport: ${comparisonFiles(path).report}`);
  if (!isDone && control.isStopRequested) {
    console.log(`Stopped. Continue with: ./tango compare --run ${path} --resume`);
    Deno.exitCode = followed.stoppedExitCode;
  }
  if (diverged.length > 0) throw new Failure(afterDivergences(diverged));
}

/** What is said of runs that left no row, and what to do. */
function afterDivergences(diverged: readonly DivergedRun[]): string {
  const rates = new Set(diverged.flatMap(({ learningRate }) => learningRate ?? []));
  const set = [...rates].map((rate) => ` --set ${rate}=…`).join("");
  return [
    ...diverged.map(({ arm, seed, message }) => `${arm.name}, seed ${seed}: ${message}`),
    "Without a row for what diverged, the tables tell of the other runs.",
    ...(set === "" ? [] : [
      `The runs of a comparison keep the configurations that it began with, so begin another with a lower learning rate: ` +
      `./tango compare${set}`,
    ]),
  ].join("\n");
}

/** The program that a run in a process of its own is started with. */
const PROGRAM = new URL("main.ts", import.meta.url).href;

interface PlannedComparison extends StoredComparison {
  readonly path: string;
}

const folderName = (task: string) => `${task}-compare`;

async function plan(options: CompareOptions): Promise<PlannedComparison> {
  const { seeds = DEFAULT_SEEDS, problems } = options;
  const more = problems === undefined ? [] : [`evaluation.problems=${problems}`];
  const set = [...options.set ?? [], ...more];
  const loaded = loadBaseConfig(options.config, { ...options, set });
  const path = loaded.run_directory ?? nextRunDirectory("runs", folderName(problemsName(loaded)));
  RunFolder.at(path).requireUnused();
  const base = await settlePrecision(loaded, options.gpuIndex, console.log);
  return { base, arms: loadArms(options.arms, base), seeds, path };
}

function reopen(options: CompareOptions, command: Command): PlannedComparison {
  refuseWithResume(command, ["run", "seeds", "target", "baseline", "jobs"]);
  const path = options.run ?? latestRunDirectory("runs", "compare");
  requireNotRunning(RunFolder.open(path));
  const { seeds, ...stored } = openComparison(path);
  return { ...stored, seeds: options.seeds ?? seeds, path };
}

/** @throws UserError when there is no such arm */
function baselineOf({ baseline }: CompareOptions, arms: readonly Arm[]): string {
  const names = arms.map(({ name }) => name);
  if (baseline === undefined) return names[0];
  if (names.includes(baseline)) return baseline;
  throw new UserError(`--baseline is ${baseline}; expected an arm: ${names.join(", ")}.`);
}

function seedsOf(text: string): readonly number[] {
  const seeds = parseSeeds(text);
  const problem = seeds === null
    ? "Expected how many seeds, such as 12, or which ones, such as 4,7 or 4,"
    : seedsProblem(seeds);
  if (seeds === null || problem !== null) throw new InvalidArgumentError(problem ?? "");
  return seeds;
}

function parseTarget(text: string): number {
  const target = parseNumber(text);
  if (target <= 1) return target;
  throw new InvalidArgumentError("Expected a number from 0 to 1.");
}
