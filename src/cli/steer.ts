/** `deno task steer`: a run that goes on is asked for something, without a server. */

import { Argument, type Command } from "commander";
import { UserError } from "../base/user_error.ts";
import { parseSettings } from "../run/config/changeable.ts";
import { askRun } from "../run/control/endpoint/ask_run.ts";
import { liveProcess } from "../run/control/endpoint/control_file.ts";
import type { ControlRequest, RunStatus } from "../run/control/endpoint/control_request.ts";
import { latestRunDirectory, RunFolder } from "../run/store/run_folder.ts";
import { addExamples } from "./examples.ts";
import { setOption } from "./run_options.ts";

interface SteerOptions {
  readonly run?: string;
  readonly set?: readonly string[];
}

/** What a person types, and what the run is asked. */
const REQUESTS = {
  status: { request: "status" },
  pause: { request: "pause" },
  "go-on": { request: "goOn" },
  checkpoint: { request: "checkpoint" },
  stop: { request: "stop" },
} as const satisfies Readonly<Record<string, ControlRequest>>;

type Plain = keyof typeof REQUESTS;

/** Adds the command. */
export function register(program: Command): void {
  const command = program.command("steer")
    .description(
      "Asks a run that goes on to pause, go on, save or stop after its present step, or changes its settings " +
        "from the next step on.",
    )
    .addArgument(
      new Argument("<request>", "what it is asked").choices([...Object.keys(REQUESTS), "change"]),
    )
    .option("--run <folder>", "the run; default: the newest")
    .addOption(setOption())
    .action(steer);
  addExamples(command, {
    "deno task steer pause": "the newest run waits after its step",
    "deno task steer change --run runs/chains-001 --set rollout.temperature=0.8":
      "holds from its next step on",
  });
}

async function steer(asked: Plain | "change", { run, set = [] }: SteerOptions): Promise<void> {
  const folder = RunFolder.open(run ?? latestRunDirectory("runs", "train"));
  const live = liveProcess(folder);
  if (live === null) {
    throw new UserError(`No process runs ${folder.path} at present; go on with it by --resume.`);
  }
  // It hears between two steps: who types this waits as long as they like.
  const answer = await askRun(live, requestOf(asked, set), new AbortController().signal);
  if (answer === null) throw new UserError(`${folder.path} ended before it answered.`);
  if (!answer.ok) throw new UserError(answer.message);
  console.log(`${folder.path}: ${describeStatus(answer.status)}`);
}

function requestOf(asked: Plain | "change", set: readonly string[]): ControlRequest {
  if (asked !== "change") {
    if (set.length === 0) return REQUESTS[asked];
    throw new UserError(`--set is for change, not for ${asked}.`);
  }
  if (set.length > 0) return { request: "change", settings: parseSettings(set) };
  throw new UserError("Say what is to change: --set rollout.temperature=0.8");
}

function describeStatus({ step, total, phase, isPauseRequested, isStopRequested }: RunStatus) {
  return [
    total === null ? "it is loading" : `step ${step} of ${total} is done`,
    ...(phase === null ? [] : [phase.replaceAll("_", " ")]),
    ...(isStopRequested ? ["it stops after its step"] : []),
    ...(isPauseRequested && !isStopRequested ? ["it waits after its step"] : []),
  ].join(", ");
}
