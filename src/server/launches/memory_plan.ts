import { UserError } from "../../base/user_error.ts";
import { Failure } from "../../base/failure.ts";
import type { MemoryPlan } from "../../run/memory/memory_plan.ts";
import type { RunKind } from "../../run/store/run_folder.ts";
import { runApart } from "./own_process.ts";
import { Turns } from "./turns.ts";

/** A run whose memory is asked for. */
export interface PlanRequest {
  readonly kind: RunKind;
  /** Of its configuration. */
  readonly file: string;
  readonly set: readonly string[];
  readonly steps?: number;
  readonly ranks: number;
  /** The GPU that was asked for. */
  readonly gpuIndex?: number;
}

/** What a run takes of its first rank's GPU, and what that GPU has. */
export interface PlannedMemory extends MemoryPlan {
  /** Null where nothing tells. */
  readonly limitBytes: number | null;
  /** Numbers of the GPUs of its kind that can be chosen, that one among them; empty where none can. */
  readonly gpus: readonly number[];
}

/** For whom a plan is made. */
export interface PlanAsker {
  /** Before the plans that others wait for. */
  readonly isFirst?: boolean;
  /** Ends the planning: nobody waits for it any more. */
  readonly signal?: AbortSignal;
}

const MOST_SECONDS = 300;
/** Of JavaScript's; a plan reads tokenizers and headers, and no weights. */
const MOST_MEGABYTES = 4096;
const turns = new Turns();

/**
 * Plans a run's memory in a process of its own, one after the other.
 *
 * @throws UserError when the run could not start that way; Failure when the process fails
 */
export function planMemory(request: PlanRequest, asker: PlanAsker): Promise<PlannedMemory> {
  return turns.take(() => plan(request, asker.signal), asker);
}

async function plan(request: PlanRequest, signal?: AbortSignal): Promise<PlannedMemory> {
  const program = new URL("./plan_process.ts", import.meta.url).href;
  const limits = { seconds: MOST_SECONDS, megabytes: MOST_MEGABYTES, signal };
  const { code, printed, said } = await runApart(program, [JSON.stringify(request)], limits);
  if (code === 0) return JSON.parse(printed.split("\n").at(-1) ?? "");
  if (code === 2) throw new UserError(said);
  throw new Failure(`The memory could not be planned: ${said.split("\n")[0]}`);
}
