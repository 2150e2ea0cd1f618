/** `deno task export`: a model as a Hugging Face folder, an adapter merged into its base. */

import { type Command, Option } from "commander";
import { UserError } from "../base/user_error.ts";
import { mergeAdapter } from "../model/weights/merge.ts";
import { type SavedType, savedTypes, wholeModelFiles } from "../model/weights/model_files.ts";
import { loadModelFolder } from "../model/weights/model_folder.ts";
import { exists } from "../base/atomic_file.ts";
import { writeFiles } from "../run/store/weights_folder.ts";
import { describeParameters } from "./device_line.ts";
import { addExamples } from "./examples.ts";
import { gpuIndexOption, gpuOption } from "./run_options.ts";
import { type GpuChoice, withGpu } from "./with_gpu.ts";

interface ExportOptions extends GpuChoice {
  readonly model: string;
  readonly output: string;
  readonly dtype: SavedType;
}

/** Adds the command. */
export function register(program: Command): void {
  const command = program.command("export")
    .description(
      "Writes a model as a Hugging Face folder that transformers opens: an adapter is merged into its " +
        "base, a GGUF file unpacked.",
    )
    .requiredOption("--model <path>", "folder with a model or an adapter, or .gguf file")
    .requiredOption("--output <folder>", "new folder")
    .addOption(
      new Option("--dtype <type>", "number format of the weights")
        .choices(Object.keys(savedTypes)).default("bfloat16"),
    )
    .addOption(gpuOption())
    .addOption(gpuIndexOption())
    .action(exportModel);
  addExamples(command, {
    "deno task export --model runs/mine/generator --output merged": "an adapter, merged",
    "deno task export --model model.Q4_K.gguf --output unpacked --dtype float32":
      "a quantised file, as the numbers it stands for",
  });
}

async function exportModel(options: ExportOptions): Promise<void> {
  const { model: path, output, dtype } = options;
  if (exists(output)) {
    throw new UserError(`${output} exists already; name a new folder with --output.`);
  }
  await withGpu(options, async (gpu) => {
    const loaded = await loadModelFolder(gpu, path, { trained: false, storage: "f32" });
    try {
      mergeAdapter(loaded.model);
      const next = "run the command again, or name another folder with --output";
      await writeFiles(output, wholeModelFiles(loaded, dtype), next);
      console.log(`${describeParameters(loaded.model.parameterCount)} → ${output}, ${dtype}`);
    } finally {
      loaded.model.release();
    }
  });
}
