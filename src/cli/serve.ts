/** `./tango serve`: the control API and the page. */

import { fileURLToPath } from "node:url";
import { type Command, InvalidArgumentError } from "commander";
import { formatBytes } from "../base/format_bytes.ts";
import type { ServingOptions } from "../server/serving/messages.ts";
import { namedModel, ServedModels } from "../server/serving/served_models.ts";
import { serve } from "../server/serve.ts";
import { programRevision } from "../platform/process/program_revision.ts";
import { describeDevice } from "../gpu/describe_device.ts";
import { addExamples } from "./examples.ts";
import { Interrupt } from "./interrupt.ts";
import { addModelOptions, collect, memoryLimitOption, parseCount } from "./run_options.ts";

interface ServeOptions extends ServingOptions {
  readonly model?: readonly string[];
  readonly host: string;
  readonly port: number;
  readonly runs: string;
  readonly checkpoints: string;
  readonly allow?: readonly string[];
  readonly allowCode?: readonly string[];
}

/** Adds the command. */
export function register(program: Command): void {
  const command = program.command("serve")
    .description(
      "Serves the runs: a page, an API to watch, start and steer them, and Prometheus metrics. With --model " +
        "it also answers OpenAI's clients and Tinker's.",
    )
    .option(
      "--host <name>",
      "address to listen at; others than this machine's own need TANGO_TOKEN",
      "127.0.0.1",
    )
    .option("--port <number>", "port to listen at; 0: any that is free", parsePort, 8000)
    .option("--runs <folder>", "folder of the runs' folders", "runs")
    .option(
      "--checkpoints <folder>",
      "where adapters are kept that Tinker's clients save",
      "checkpoints",
    )
    .option(
      "--allow <folder>",
      "folder of models or data that new runs may use (repeatable)",
      collect,
    )
    .option(
      "--allow-code <folder>",
      "folder of reward modules that new runs may execute, and may not write to (repeatable)",
      collect,
    )
    .option(
      "--model <path>",
      "Hugging Face folder or .gguf file that clients can ask, NAME=path to name it (repeatable)",
      collect,
    )
    .option("--slots <number>", "responses of a model decoded at once, at most", parseCount, 128)
    .option(
      "--cache-tokens <tokens>",
      "tokens of prompts and responses that a model's cache has room for",
      parseCount,
      16_384,
    )
    .option(
      "--micro-batch-tokens <tokens>",
      "tokens of one pass when adapters are trained, and of the longest example",
      parseCount,
      2048,
    )
    .addOption(memoryLimitOption());
  addModelOptions(command).action(serveRuns);
  addExamples(command, {
    "deno task serve": "the page at http://127.0.0.1:8000",
    "deno task serve --model models/SmolLM2-135M-Instruct.Q4_1.gguf":
      "and a model for OpenAI's clients, at http://127.0.0.1:8000/v1",
    "deno task serve --host 0.0.0.0 --port 8080":
      "for other machines, which need the token in the variable TANGO_TOKEN",
  });
}

/** Where prompt templates, data and the like usually are. */
const FOLDERS = ["configs", "data", "weights"];

async function serveRuns(
  { host, port, runs, checkpoints, allow = [], allowCode = [], model: models = [], ...options }:
    ServeOptions,
): Promise<void> {
  const token = Deno.env.get("TANGO_TOKEN") || null;
  await using served = new ServedModels(options);
  for (const text of models) {
    const { name, path } = namedModel(text);
    const { info } = await served.open(name, path);
    console.log(
      `${name} · ${info.maximumTokens} tokens · up to ${formatBytes(info.peakBytes)} · ${
        describeDevice(info.device)
      }`,
    );
  }
  await using server = serve({
    hostname: host,
    port,
    token,
    root: runs,
    checkpoints,
    folders: [...FOLDERS, ...allow],
    codeFolders: allowCode,
    served,
    tab: async () => await (await import("../tab/static_files.ts")).staticFiles(programRevision()),
    program: fileURLToPath(Deno.mainModule),
  });
  console.log(`Serving ${runs} at ${server.url} (Ctrl-C ends the server, not the runs)`);
  const { promise, resolve } = Promise.withResolvers<void>();
  using _interrupt = new Interrupt(() => resolve());
  await promise;
}

function parsePort(text: string): number {
  const value = /^\d+$/.test(text) ? Number(text) : -1;
  if (value < 0 || value > 65535) throw new InvalidArgumentError("Expected a port, 0 to 65535.");
  return value;
}
