/** `deno task tune`: which kernels are fastest on this device. */

import type { Command } from "commander";
import { alignedTable } from "../base/table.ts";
import { rollout } from "../engine/sampling/rollout.ts";
import { Sampler } from "../engine/sampling/sampler.ts";
import type { MeasuredClass } from "../gpu/measure_variants.ts";
import type { LoadedModel } from "../model/weights/model_folder.ts";
import { streams } from "../random/philox.ts";
import { type ConfigOverrides, loadTangoConfig } from "../run/config/load_config.ts";
import type { FrozenDtype } from "../run/config/shared_schema.ts";
import { planSamplingMemory } from "../run/memory/sampling_memory_plan.ts";
import { planTangoMemory } from "../run/memory/tango_memory_plan.ts";
import { tune } from "../run/tuning/tune.ts";
import { describeDevice } from "../gpu/describe_device.ts";
import { addExamples } from "./examples.ts";
import {
  addModelOptions,
  configOption,
  DEFAULT_CONFIG,
  expectBeside,
  setOption,
} from "./run_options.ts";
import { type GpuChoice, withGpu } from "./with_gpu.ts";

interface TuneCommandOptions extends GpuChoice, Pick<ConfigOverrides, "set"> {
  readonly config: string;
  readonly model?: string;
  readonly frozenDtype?: FrozenDtype;
  readonly redo?: boolean;
  readonly json?: boolean;
}

/** Adds the command. */
export function register(program: Command): void {
  const command = program.command("tune")
    .description(
      "Shows which variants of the kernels are fastest on this device for the shapes of a run, and measures those " +
        "that are not known. Runs do so by themselves when they first start.",
    )
    .addOption(configOption(DEFAULT_CONFIG).conflicts("model"))
    .addOption(setOption().conflicts("model"))
    .option("--model <folder>", "instead of a run, only sampling from this model (or .gguf file)")
    .option("--redo", "measure again what is known")
    .option("--json", "print one JSON object instead");
  addModelOptions(command).action(showTuning);
  addExamples(command, {
    "deno task tune": "the shapes of the default run",
    "deno task tune --config configs/qwen2.5-1.5b.yaml --redo": "those of another run, anew",
    "deno task tune --model weights/last-letter/generator --gpu dawn":
      "those of sampling, on the other engine",
  });
}

async function showTuning(options: TuneCommandOptions, command: Command): Promise<void> {
  expectBeside(command, "--precision", "--model");
  expectBeside(command, "--frozen-dtype", "--model");
  expectBeside(command, "--cache-dtype", "--model");
  const { redo, json } = options;
  const { model, frozenDtype, config, set, gpu: engine } = options;
  const run = model === undefined ? loadTangoConfig(config, { set, gpu: engine }) : null;
  const choice = {
    gpu: run?.gpu ?? engine,
    precision: run?.precision ?? options.precision,
    cacheDtype: run?.cache_dtype ?? options.cacheDtype,
  };
  await withGpu({ ...options, ...choice }, async (gpu) => {
    if (model !== undefined) await planSamplingMemory(gpu, { model, frozenDtype }, sampleSome);
    else if (run !== null) await planTangoMemory(gpu, run);
    const lines: string[] = [];
    const tell = (line: string) => json ? lines.push(line) : console.log(line);
    const { classes } = await tune(gpu, { redo, tell });
    if (json) console.log(JSON.stringify({ device: gpu.info, classes, said: lines }, null, 2));
    else console.log(`${describeDevice(gpu.info)}\n\n${formatClasses(classes)}`);
  });
}

/** How many sequences are sampled at once, and with how long a prompt. */
const sampled = { sequences: [1, 16, 64], promptTokens: 64 };

async function sampleSome({ model, stopTokens }: LoadedModel): Promise<void> {
  for (const count of sampled.sequences) {
    const sampler = new Sampler(model, { slots: count, stepsBetweenReadbacks: 1 });
    try {
      const sequenceIds = Array.from({ length: count }, (_, i) => i);
      await rollout(sampler, [{ prompt: new Uint32Array(sampled.promptTokens), sequenceIds }], {
        ...{ temperature: 1, topK: 0, topP: 1, minP: 0 },
        ...{ seed: 0, stream: streams.evaluation, step: 0 },
        stopTokens,
        maximumResponse: 1,
      });
    } finally {
      sampler.close();
    }
  }
}

/** One line for each variant of each class: the one that is taken is marked. */
export function formatClasses(classes: readonly MeasuredClass[]): string {
  const rows = classes.flatMap(({ operation, shapeClass, shape, variant, variants }) =>
    variants.map(({ name, seconds, excluded }, index) => [
      index === 0 ? `${operation} ${shapeClass}` : "",
      index === 0 ? shape : "",
      name === variant ? `* ${name}` : name,
      seconds === null ? "excluded" : `${(seconds * 1e3).toPrecision(3)} ms`,
      excluded,
    ])
  );
  const reasons = rows.flatMap(([, , name, , excluded]) =>
    excluded === null ? [] : [`${name} was excluded: ${excluded}`]
  );
  const cells = rows.map((row) => row.slice(0, 4).map((cell) => cell ?? ""));
  const head = ["shapes", "measured at", "variant (* taken)", "a launch"];
  return [alignedTable([head, ...cells]), ...new Set(reasons)].join("\n");
}
