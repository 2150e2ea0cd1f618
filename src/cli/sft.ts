/** `deno task sft`: makes a policy's warm-start weights. */

import type { Command } from "commander";
import { loadSftConfig } from "../run/load_config.ts";
import { formatMemoryPlan } from "../run/memory_plan.ts";
import { nextRunDirectory, RunFolder } from "../run/run_folder.ts";
import { sftAccuracy } from "../run/sft_report.ts";
import { fineTuneWithReport } from "../run/sft_session.ts";
import { describeDevice, describeParameters } from "./device_line.ts";
import { addExamples } from "./examples.ts";
import { addConfigOptions, type ConfigOptions } from "./run_options.ts";
import { withGpu } from "./with_gpu.ts";

/** Adds the command. */
export function register(program: Command): void {
  const command = addConfigOptions(
    program.command("sft"),
    "configs/last-letter-generator-sft.yaml",
  )
    .description("Makes a policy's warm-start weights by imitating written solutions or critiques.")
    .action(fineTune);
  addExamples(command, {
    "deno task sft --set output_directory=weights/mine/generator": "a new generator",
    "deno task sft --config configs/last-letter-verifier-sft.yaml":
      "a new verifier, left in the run's folder",
  });
}

async function fineTune(options: ConfigOptions): Promise<void> {
  const config = loadSftConfig(options.config, options);
  const path = config.run_directory ??
    nextRunDirectory("runs", `${config.task.name}-${config.policy}-sft`);
  const { evaluation, weights } = await withGpu(config.gpu, (gpu) => {
    const device = describeDevice(gpu.info);
    return fineTuneWithReport(gpu, config, path, {
      device,
      onPlan: (plan) => console.log(`${formatMemoryPlan(plan)}\n`),
      onOpen(run) {
        const model = `${config.policy} of ${describeParameters(run.parameterCount)}`;
        const title = "supervised fine-tuning";
        console.log([title, config.task.name, model, device, path].join(" · "));
      },
    });
  });
  const { name } = sftAccuracy(config.policy);
  console.log(
    `${name}: ${(100 * evaluation.accuracy).toFixed(1)} % after ${evaluation.step} updates`,
  );
  console.log(`weights: ${weights}, report: ${RunFolder.at(path).report}`);
}
