/** `./tango serve`: the control API and the page. */

import { fileURLToPath } from "node:url";
import { type Command, InvalidArgumentError } from "commander";
import { serve } from "../server/serve.ts";
import { addExamples } from "./examples.ts";
import { Interrupt } from "./interrupt.ts";
import { collect } from "./run_options.ts";

interface ServeOptions {
  readonly host: string;
  readonly port: number;
  readonly runs: string;
  readonly allow?: readonly string[];
}

/** Adds the command. */
export function register(program: Command): void {
  const command = program.command("serve")
    .description(
      "Serves the runs: a page, an API to watch, start and steer them, and Prometheus metrics.",
    )
    .option(
      "--host <name>",
      "address to listen at; others than this machine's own need TANGO_TOKEN",
      "127.0.0.1",
    )
    .option("--port <number>", "port to listen at; 0: any that is free", parsePort, 8000)
    .option("--runs <folder>", "folder of the runs' folders", "runs")
    .option(
      "--allow <folder>",
      "folder of models, data or reward modules that new runs may use (repeatable)",
      collect,
    )
    .action(serveRuns);
  addExamples(command, {
    "deno task serve": "the page at http://127.0.0.1:8000",
    "deno task serve --host 0.0.0.0 --port 8080":
      "for other machines, which need the token in the variable TANGO_TOKEN",
  });
}

/** Where models, data and the like usually are. */
const FOLDERS = ["configs", "data", "models", "weights"];
/** Where reward modules are: no folder that this server writes to. */
const CODE_FOLDERS = ["configs"];

async function serveRuns({ host, port, runs, allow = [] }: ServeOptions): Promise<void> {
  const token = Deno.env.get("TANGO_TOKEN") || null;
  await using server = serve({
    hostname: host,
    port,
    token,
    root: runs,
    folders: [...FOLDERS, ...allow],
    codeFolders: [...CODE_FOLDERS, ...allow],
    program: fileURLToPath(Deno.mainModule),
  });
  console.log(`Serving ${runs} at ${server.url} (Ctrl-C ends the server, not the runs)`);
  const { promise, resolve } = Promise.withResolvers<void>();
  using _interrupt = new Interrupt(resolve, ["SIGINT", "SIGTERM"]);
  await promise;
}

function parsePort(text: string): number {
  const value = /^\d+$/.test(text) ? Number(text) : -1;
  if (value < 0 || value > 65535) throw new InvalidArgumentError("Expected a port, 0 to 65535.");
  return value;
}
