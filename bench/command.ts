/** `deno task bench`: checks and times kernels and whole steps, beside the device and PyTorch. */

import { join } from "node:path";
import { type Command, InvalidArgumentError, Option } from "commander";
import { addExamples } from "../src/cli/examples.ts";
import { expectBeside, gpuIndexOption, gpuOption } from "../src/cli/run_options.ts";
import { UserError } from "../src/base/user_error.ts";
import { Gpu } from "../src/gpu/gpu.ts";
import type { EngineChoice } from "../src/gpu/gpu_options.ts";
import { useStoredTuning } from "../src/run/tuning/tune.ts";
import { type DeviceRecord, recordOf } from "./device_record.ts";
import { measureDeviceRates } from "./device_rates.ts";
import { measureBurn } from "./burn/measure_burn.ts";
import { burnHead, burnRow } from "./burn/rate_row.ts";
import { measureModel } from "./model/measure_model.ts";
import type { HostTime } from "./model/host_time.ts";
import type { ComparedRate } from "./model/pairs.ts";
import type { PeerType } from "./model/transformers_process.ts";
import { hostLine, rateHead, rateRow } from "./model/rate_table.ts";
import { measure } from "./measure.ts";
import { runPeer } from "./peer.ts";
import {
  type BenchResult,
  type BurnResultsFile,
  type ModelResultsFile,
  readResults,
  type ResultsFile,
  writeResults,
} from "./results.ts";
import {
  howToSend,
  knownResults,
  missingResults,
  OWN_RESULTS,
  SHIPPED_RESULTS,
} from "./sending.ts";
import { listTasks } from "./shapes.ts";
import {
  describeAdapter,
  describeRatedDevice,
  describeTuning,
  headRow,
  resultRow,
  variantLines,
} from "./table.ts";

interface BenchOptions {
  readonly gpu?: EngineChoice;
  readonly gpuIndex?: number;
  readonly filter: string;
  readonly seconds: number;
  readonly json?: string;
  readonly against?: string;
  readonly peer?: boolean;
  readonly burn?: boolean;
  readonly python: string;
  readonly cargo: string;
  readonly model?: string;
  readonly runs: number;
}

/** Adds the command. */
export function register(program: Command): void {
  const command = program.command("bench")
    .description(
      "Checks every kernel and whole steps (training_step, rollout), then gives their median time, " +
        "their rate and, for kernels, the share of what this device can do at best. Shapes are in " +
        "bench/shapes.json.",
    )
    .addOption(gpuOption())
    .addOption(gpuIndexOption())
    .option("--filter <text>", "only results whose NAME/SHAPE contains this", "")
    .addOption(
      new Option("--seconds <number>", "time for each result; with --model, --runs says how often")
        .argParser(parseSeconds).default(0.5).conflicts("model"),
    )
    .option("--json <file>", "write the results there")
    .addOption(
      new Option("--against <file>", "add the speed relative to a file written by --json")
        .conflicts("model"),
    )
    .option("--peer", "measure the same in PyTorch and set them side by side")
    .addOption(
      new Option(
        "--burn",
        "instead, the matrix products and the training step in turns with burn (Rust) on the same adapter",
      ).conflicts(["model", "peer", "against", "seconds"]),
    )
    .option(
      "--model <path>",
      "only this model (folder or .gguf): sampling, forward and backward; with --peer in turns with transformers",
    )
    .option("--runs <number>", "timed runs of each, with --model or --burn", parseCount, 3)
    .option("--python <path>", "the Python that has PyTorch", "python3")
    .option("--cargo <path>", "the cargo that builds burn", "cargo")
    .action(bench);
  addExamples(command, {
    "deno task bench --filter gemm": "the matrix products at all their shapes",
    "deno task bench --filter /default": "the end-to-end rates: training_step and rollout",
    "deno task bench --model SmolLM2-135M-Instruct.Q4_1.gguf":
      "tokens per second of sampling 1, 4, 16 and 64 sequences, and of forward and backward",
    "deno task bench --model model.gguf --peer --python .venv/bin/python --filter train":
      "forward and backward of that model, beside transformers in f32 and bf16",
    "deno task bench --peer --python .venv/bin/python": "everything, beside PyTorch",
    "deno task bench --burn --filter gemm": "the matrix products, in turns with burn",
    "deno task bench --json new.json --against old.json": "what a change did",
  });
}

async function bench(options: BenchOptions, command: Command): Promise<void> {
  if (!options.burn) expectBeside(command, "--runs", "--model");
  expectBeside(command, "--python", "--peer");
  expectBeside(command, "--cargo", "--burn");
  if (options.model !== undefined) return await benchModel(options.model, options);
  if (options.burn) return await benchBesideBurn(options);
  const { filter, seconds } = options;
  const tasks = listTasks(filter);
  const against = options.against === undefined ? null : readResults(options.against);
  const gpu = await Gpu.open(options.gpu, { index: options.gpuIndex });
  const tuning = useStoredTuning(gpu);
  const rates = await measureDeviceRates(gpu, seconds);
  console.log(`${describeRatedDevice(gpu.info, rates)}\n${describeTuning(tuning)}`);
  if (against && against.adapter !== gpu.info.name) {
    console.log(`Beware: ${options.against} was measured on ${against.adapter}.`);
  }
  const peer = options.peer
    ? await runPeer(options.python, { filter, seconds, cpu: gpu.info.software })
    : null;
  if (peer) console.log(`Beside ${peer.description}`);

  console.log(`\n${headRow({ peer, against })}`);
  const results: BenchResult[] = [];
  for (const task of tasks) {
    const result = await measure(gpu, task, rates, seconds, console.log);
    results.push(result);
    console.log(resultRow(result, { peer, against }));
  }
  console.log(variantLines(results).join("\n"));
  const { engine, name: adapter, software } = gpu.info;
  const device = recordOf(gpu, tuning.classes);
  keep({ engine, adapter, software, device, rates, results }, options);
  const wrong = results.filter(({ error }) => !(error <= 1)).length;
  if (wrong > 0) {
    console.log(`\n${wrong} of ${results.length} gave wrong numbers.`);
    Deno.exitCode = 1;
  }
}

/** Writes what was asked for, and what the project has none of yet. */
function keep(file: ResultsFile & { readonly device: DeviceRecord }, options: BenchOptions): void {
  const missing = missingResults(file.device.info, knownResults(SHIPPED_RESULTS));
  const isWhole = options.filter === "";
  const path = options.json ?? (missing && isWhole ? join(OWN_RESULTS, missing) : null);
  if (path !== null) writeResults(path, file);
  if (missing === null) return;
  console.log(
    path !== null && isWhole
      ? `\n${howToSend(path, missing)}`
      : "\nThere are no results of this GPU yet: ./tango bench without --filter makes a file to send in.",
  );
}

async function benchBesideBurn({ gpu: engine, gpuIndex: index, ...options }: BenchOptions) {
  const { filter, cargo, runs } = options;
  const tasks = listTasks(filter);
  const gpu = await Gpu.open(engine, { index });
  const tuning = useStoredTuning(gpu);
  console.log(`${describeAdapter(gpu.info)}\n${describeTuning(tuning)}`);
  const rates: BurnResultsFile["rates"][number][] = [];
  const peer = await measureBurn(gpu, tasks, {
    cargo,
    runs,
    say: console.log,
    report: ({ unit }, rate) => {
      if (rates.length === 0) console.log(`\n${burnHead}`);
      rates.push({ ...rate, unit });
      console.log(burnRow(rate, unit));
    },
  });
  if (options.json !== undefined) {
    const { name: adapter, software } = gpu.info;
    const device = recordOf(gpu, tuning.classes);
    writeResults(options.json, { engine: gpu.info.engine, adapter, software, device, peer, rates });
  }
}

async function benchModel(path: string, options: BenchOptions): Promise<void> {
  const { filter, runs, peer = false } = options;
  const gpu = await Gpu.open(options.gpu, { index: options.gpuIndex });
  console.log(`${path} · ${describeAdapter(gpu.info)}`);
  console.log(describeTuning(useStoredTuning(gpu)));
  const rates: ComparedRate<PeerType>[] = [];
  let host: HostTime | null = null;
  await measureModel(gpu, path, {
    filter,
    runs,
    python: peer ? options.python : null,
    say: console.log,
    reportHost: (time) => {
      host = time;
      console.log(hostLine(time));
    },
    report: (rate) => {
      if (rates.length === 0) console.log(`\n${rateHead(peer)}`);
      rates.push(rate);
      console.log(rateRow(rate));
    },
  });
  if (options.json !== undefined) {
    const { engine, name: adapter, software } = gpu.info;
    const file: ModelResultsFile = { engine, adapter, software, model: path, host, rates };
    writeResults(options.json, file);
  }
  if (rates.length === 0 && host === null) {
    throw new UserError(`--filter ${filter}: nothing is called that; host, sample 16, train …`);
  }
}

function parseSeconds(text: string): number {
  const value = Number(text);
  if (!(value > 0)) throw new InvalidArgumentError("Expected a number of seconds above 0.");
  return value;
}

function parseCount(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1) {
    throw new InvalidArgumentError("Expected a whole number, at least 1.");
  }
  return value;
}
