/** `deno task compare`: Tango against its baselines. */

import { type Command, InvalidArgumentError } from "commander";
import type { Gpu } from "../gpu/gpu.ts";
import { comparedMethods } from "../run/compare/comparison.ts";
import { comparisonFiles } from "../run/compare/comparison_report.ts";
import { readSeeds, runComparison, writeSeeds } from "../run/compare/comparison_session.ts";
import { DEFAULT_SEEDS, seedsProblem } from "../run/compare/seeds.ts";
import type { TangoConfig } from "../run/config/config_schema.ts";
import { requireNotRunning } from "../run/control/endpoint/control_file.ts";
import { loadTangoConfig } from "../run/config/load_config.ts";
import { problemsName } from "../run/problems/open_problems.ts";
import { latestRunDirectory, nextRunDirectory, RunFolder } from "../run/store/run_folder.ts";
import { describeDevice } from "../gpu/describe_device.ts";
import { addExamples } from "./examples.ts";
import { openReward } from "../run/tango/custom_reward.ts";
import { FollowedRun } from "./followed_run.ts";
import { describeTangoSteps } from "./progress/tango_progress.ts";
import {
  addSeedlessConfigOptions,
  type ConfigOptions,
  parseWholeNumber,
  refuseWithResume,
  resumeOption,
} from "./run_options.ts";
import { withResumeHint } from "./resume_hint.ts";
import { gpuOf, withGpu } from "./with_gpu.ts";

interface CompareOptions extends ConfigOptions {
  readonly seeds?: readonly number[];
  readonly resume?: boolean;
}

/** Adds the command. */
export function register(program: Command): void {
  const command = addSeedlessConfigOptions(program.command("compare"), "configs/last-letter.yaml")
    .description(
      "Trains Tango, the generator alone, and Tango with a frozen verifier over several seeds, at " +
        "equal generator steps, and compares them.",
    )
    .option(
      "--seeds <list>",
      `seeds, separated by commas (default: ${DEFAULT_SEEDS.join(",")})`,
      parseSeeds,
    )
    .addOption(resumeOption())
    .action(compare);
  addExamples(command, {
    "deno task compare": "three methods over three seeds; --steps counts those of Tango",
    "deno task compare --resume": "goes on with the newest comparison; finished runs are kept",
    "deno task compare --resume --seeds 0,1,2,3": "adds a seed to it",
  });
}

async function compare(options: CompareOptions, command: Command): Promise<void> {
  const { config, seeds, path } = options.resume ? reopen(options, command) : plan(options);
  await openReward(config.rewards.module); // said before anything is loaded
  using followed = new FollowedRun(describeTangoSteps, "step");
  followed.events.listen((event) => {
    if (event.type !== "comparedRun") return;
    console.log(`${event.number}/${event.total}: ${event.method}, seed ${event.seed}`);
  });
  const run = (gpu: Gpu) => {
    if (!options.resume) RunFolder.create(path, config);
    writeSeeds(path, seeds);
    const device = describeDevice(gpu.info);
    console.log(
      `comparison on ${problemsName(config)}, seeds ${seeds.join(", ")} · ${device} · ${path}`,
    );
    const { events, control, endpoint } = followed;
    return runComparison(gpu, config, seeds, path, {
      device,
      events,
      control,
      endpoint,
      tuning: config.tuning,
      tell: (line) => console.log(line),
    });
  };
  const { isDone, table } = await withResumeHint(
    "compare",
    RunFolder.at(path),
    () => withGpu(gpuOf(config, options.gpuIndex), run),
  );
  if (table !== null) console.log(`\n${table}\n\nreport: ${comparisonFiles(path).report}`);
  if (!isDone) {
    console.log(`Stopped. Continue with: ./tango compare --run ${path} --resume`);
    Deno.exitCode = followed.stoppedExitCode;
  }
}

interface PlannedComparison {
  readonly config: TangoConfig;
  readonly seeds: readonly number[];
  readonly path: string;
}

const folderName = (task: string) => `${task}-compare`;

function plan(options: CompareOptions): PlannedComparison {
  const { seeds = DEFAULT_SEEDS } = options;
  const config = loadTangoConfig(options.config, options);
  comparedMethods(config); // refuses what cannot be compared before anything is opened
  const path = config.run_directory ?? nextRunDirectory("runs", folderName(problemsName(config)));
  return { config, seeds, path };
}

function reopen(options: CompareOptions, command: Command): PlannedComparison {
  refuseWithResume(command, ["run", "seeds"]);
  const path = options.run ?? latestRunDirectory("runs", "compare");
  const folder = RunFolder.open(path);
  requireNotRunning(folder);
  const seeds = readSeeds(path);
  return { config: loadTangoConfig(folder.configuration), seeds: options.seeds ?? seeds, path };
}

function parseSeeds(text: string): readonly number[] {
  const seeds = text.split(",").map((seed) => parseWholeNumber(seed.trim()));
  const problem = seedsProblem(seeds);
  if (problem !== null) throw new InvalidArgumentError(problem);
  return seeds;
}
