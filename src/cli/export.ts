/** `deno task export`: a model as a Hugging Face folder or a GGUF file, an adapter merged into its base. */

import { type Command, Option } from "commander";
import { UserError } from "../base/user_error.ts";
import type { Gpu } from "../gpu/gpu.ts";
import { ChatTemplate } from "../model/tokenizer/chat_template.ts";
import { beginsWithBos } from "../model/weights/gguf_tokenizer_values.ts";
import { modelfile, turnTextsOf } from "../model/weights/ollama_modelfile.ts";
import { ggufAdapter, ggufModel, type GgufType, ggufTypes } from "../model/weights/gguf_model.ts";
import { mergeAdapter } from "../model/weights/merge.ts";
import {
  modelFiles,
  type SavedType,
  savedTypes,
  wholeModelFiles,
} from "../model/weights/model_files.ts";
import { type LoadedModel, loadModelFolder } from "../model/weights/model_folder.ts";
import {
  exists,
  writeFileAtomically,
  writePiecesAtomically,
} from "../platform/files/atomic_file.ts";
import { formatBytes } from "../base/format_bytes.ts";
import { basename } from "../platform/system/paths.ts";
import type { PolicyName } from "../rl/policy.ts";
import { writeFiles } from "../run/store/weights_folder.ts";
import { loadStoredPolicy, writeStoredPolicy } from "../run/tango/write_policy.ts";
import { describeParameters } from "./device_line.ts";
import { addExamples } from "./examples.ts";
import { gpuIndexOption, gpuOption, parseWholeNumber } from "./run_options.ts";
import { type GpuChoice, withGpu } from "./with_gpu.ts";

interface ExportOptions extends GpuChoice {
  readonly model?: string;
  readonly run?: string;
  readonly policy: PolicyName;
  readonly checkpoint?: number;
  readonly adapter?: boolean;
  readonly asTrained?: boolean;
  readonly output: string;
  readonly dtype: SavedType;
  readonly gguf?: GgufType;
  readonly ollama?: boolean;
}

/** Adds the command. */
export function register(program: Command): void {
  const command = program.command("export")
    .description(
      "Writes a model as a Hugging Face folder that transformers opens, or as a GGUF file that llama.cpp and what " +
        "is built on it run: an adapter is merged into its base, a GGUF file unpacked.",
    )
    .option("--model <path>", "folder with a model or an adapter, or .gguf file")
    .option(
      "--run <folder>",
      "instead of a model: a run, whose policy is exported as a checkpoint has it",
    )
    .addOption(
      new Option("--policy <name>", "which policy of the run").choices(["generator", "verifier"])
        .default("generator"),
    )
    .option("--checkpoint <step>", "of the run; default: the newest", parseWholeNumber)
    .option("--adapter", "write the adapter alone, as PEFT has it, instead of merging it")
    .addOption(
      new Option(
        "--as-trained",
        "of a run: as it would have left it then, the adapter alone where it trains one, else the whole model in float32",
      ).conflicts(["adapter", "dtype"]),
    )
    .addOption(
      new Option(
        "--gguf <type>",
        "write a GGUF file whose matrices are of this type; with --adapter the adapter alone, F32",
      ).choices(Object.keys(ggufTypes)).conflicts(["dtype", "asTrained"]),
    )
    .option(
      "--ollama",
      "write beside the GGUF file FILE.Modelfile, by which `ollama create NAME -f FILE.Modelfile` takes it",
    )
    .requiredOption("--output <path>", "new folder, or with --gguf the new .gguf file")
    .addOption(
      new Option("--dtype <type>", "number format of the weights")
        .choices(Object.keys(savedTypes)).default("bfloat16"),
    )
    .addOption(gpuOption())
    .addOption(gpuIndexOption())
    .action(exportModel);
  addExamples(command, {
    "deno task export --model runs/mine/generator --output merged": "an adapter, merged",
    "deno task export --run runs/mine --checkpoint 40 --output at-40":
      "the generator of a run, as it was after step 40",
    "deno task export --model model.Q4_K.gguf --output unpacked --dtype float32":
      "a quantised file, as the numbers it stands for",
    "deno task export --run runs/mine --gguf Q8_0 --output mine.gguf":
      "the generator of a run, for llama.cpp, Ollama and LM Studio",
  });
}

async function exportModel(options: ExportOptions): Promise<void> {
  const { output, dtype, gguf, adapter = false, ollama = false } = options;
  if (exists(output)) {
    throw new UserError(`${output} exists already; name another with --output.`);
  }
  if (gguf !== undefined && !output.endsWith(".gguf")) {
    throw new UserError(`--output is ${output}; with --gguf it names a file that ends in .gguf.`);
  }
  if (adapter && gguf !== undefined && gguf !== "F32") {
    throw new UserError(`--gguf is ${gguf}; an adapter alone is written in F32.`);
  }
  if (ollama && (gguf === undefined || adapter)) {
    throw new UserError("--ollama is of a whole model's file: name its type with --gguf.");
  }
  if (ollama && exists(modelfileOf(output))) {
    throw new UserError(`${modelfileOf(output)} exists already; name another with --output.`);
  }
  await withGpu(options, async (gpu) => {
    if (options.asTrained) return await exportAsTrained(gpu, options);
    const loaded = await load(gpu, options);
    try {
      if (adapter && loaded.model.adapter === null) {
        throw new UserError(
          "It has no adapter: leave --adapter out, which exports the whole model.",
        );
      }
      if (!adapter) mergeAdapter(loaded.model);
      if (gguf !== undefined) return await writeGguf(loaded, gguf, options);
      const files = adapter ? modelFiles(loaded) : wholeModelFiles(loaded, dtype);
      await writeFiles(
        output,
        files,
        "run the command again, or name another folder with --output",
      );
      const { parameterCount } = loaded.model;
      const what = adapter ? "adapter" : `${describeParameters(parameterCount)}, ${dtype}`;
      console.log(`${what} → ${output}`);
    } finally {
      loaded.model.release();
    }
  });
}

async function writeGguf(
  loaded: LoadedModel,
  type: GgufType,
  { adapter = false, ollama = false, output }: ExportOptions,
): Promise<void> {
  const name = basename(output, ".gguf");
  const recipe = ollama ? recipeOf(loaded, output) : null;
  const content = adapter
    ? await ggufAdapter(loaded.model, name)
    : await ggufModel(loaded, type, name);
  const next = "run the command again, or name another file with --output";
  await writePiecesAtomically({ path: output, bytes: content.bytes, next }, content.pieces());
  const what = adapter ? "adapter" : `${describeParameters(loaded.model.parameterCount)}, ${type}`;
  console.log(`${what} → ${output}, ${formatBytes(content.bytes)}`);
  if (recipe === null) return;
  const path = modelfileOf(output);
  writeFileAtomically(path, recipe, next);
  console.log(`ollama create ${name} -f ${path}`);
}

const modelfileOf = (output: string) => output.replace(/\.gguf$/, ".Modelfile");

/** What tells Ollama how the model was taught to see a conversation. */
function recipeOf({ tokenizer, stopTokens }: LoadedModel, output: string): string {
  const { specialTokens } = tokenizer;
  const stops = stopTokens.flatMap((stop) =>
    specialTokens.find(({ id }) => id === stop)?.content ?? []
  );
  const bos = beginsWithBos(tokenizer) ? tokenizer.specialText("bos_token") : null;
  const texts = turnTextsOf(new ChatTemplate(tokenizer, output));
  return modelfile(basename(output), texts, bos, stops);
}

async function exportAsTrained(
  gpu: Gpu,
  { model, run, policy, checkpoint, output }: ExportOptions,
): Promise<void> {
  if (run === undefined || model !== undefined) {
    throw new UserError("--as-trained is of a run: name it with --run, and no --model.");
  }
  await writeStoredPolicy(gpu, { run, policy, checkpoint: checkpoint ?? null }, output);
  console.log(`${policy}, as ${run} has trained it → ${output}`);
}

async function load(
  gpu: Gpu,
  { model, run, policy, checkpoint }: ExportOptions,
): Promise<LoadedModel> {
  if ((model === undefined) === (run === undefined)) {
    throw new UserError("Name either a model with --model or a run with --run.");
  }
  return run === undefined
    ? await loadModelFolder(gpu, model ?? "", { trained: false, storage: "f32" })
    : await loadStoredPolicy(gpu, { run, policy, checkpoint: checkpoint ?? null });
}
