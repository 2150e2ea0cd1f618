import { constants } from "node:os";
import { z } from "@hono/zod-openapi";
import type { RunMemory } from "../../run/control/endpoint/control_request.ts";
import { type FailureReason, failureReasonSchema } from "../../base/failure_reason.ts";
import { secondsLeft, UNTOLD } from "../index/progress.ts";
import type { RunLaunch } from "./launch.ts";
import type { ListedRun } from "./run_list.ts";
import { notesSchema, readNotes } from "./run_notes.ts";

/** States of a run. */
export const runStateSchema = z.enum(
  [
    "waiting",
    "starting",
    "running",
    "paused",
    "stopping",
    "stopped",
    "finished",
    "failed",
    "killed",
    "lost",
  ],
);

/** A run as the API shows it. */
export const runSchema = z.object({
  id: z.string().describe("The name of its folder."),
  kind: z.enum(["train", "sft", "compare"]),
  comparison: z.string().nullable().describe(
    "The comparison that it is a run of, and that is steered in its place; its id is `comparison:folder`.",
  ),
  state: runStateSchema.describe(
    "`waiting` in the queue; `lost`: its process is gone without a last word, as when a signal has ended it; `stopped`, `failed`, `killed` and `lost` can be resumed.",
  ),
  step: z.int().describe("Steps done; of a comparison, runs."),
  totalSteps: z.int().describe("Of a comparison, runs. 0 as long as nobody has said."),
  phase: z.string().nullable().describe("What it is doing."),
  startedAt: z.string().nullable(),
  endedAt: z.string().nullable(),
  secondsLeft: z.number().nullable().describe(
    "At the pace of its present part, since its first training step began.",
  ),
  folder: z.string(),
  ranks: z.int().describe("Processes that share the work of its present part."),
  error: z.string().nullable().describe("What ended it, in words."),
  reason: failureReasonSchema.nullable().describe("Why it failed, where what it threw says so."),
  memory: z.object({
    planned: z.number().describe("Bytes of GPU memory at most, by the plan."),
    live: z.number().nullable().describe(
      "Bytes that it holds at present; null where the run has not said yet.",
    ),
    peak: z.number().nullable().describe("The most bytes that were in use at once."),
  }).nullable(),
  ...notesSchema.shape,
}).openapi("Run");

/** A run as the API shows it. */
export type RunView = z.infer<typeof runSchema>;

/** Whether a run has processes, or is about to. */
export const isGoing = (state: RunView["state"]): boolean =>
  ["starting", "running", "paused", "stopping"].includes(state);

/** What is known of a run. */
export interface KnownRun {
  /** By its folder. */
  readonly run: ListedRun | null;
  readonly launch: RunLaunch | null;
  /** By itself. */
  readonly memory: RunMemory | null;
}

/**
 * Shows what is known of a run.
 *
 * @param root the folder of the runs' folders
 */
export function viewRun(name: string, { run, launch, memory }: KnownRun, root: string): RunView {
  const progress = run?.indexed.progress ?? UNTOLD;
  const { step, startedAt, part } = progress;
  const { state, error, reason } = stateOf(run, launch);
  const planned = memory?.planned ?? launch?.plan?.bytes ?? null;
  const held = memory && { live: memory.live, peak: memory.peak };
  const isOver = ["stopped", "finished", "failed", "killed", "lost"].includes(state);
  return {
    id: name,
    kind: run?.kind ?? launch?.kind ?? "train",
    comparison: run?.comparison ?? null,
    state,
    step,
    totalSteps: progress.totalSteps || (run?.totalSteps ?? 0),
    phase: isOver ? null : progress.phase,
    startedAt: startedAt ?? launch?.createdAt ?? run?.beganAt ?? null,
    endedAt: isOver ? progress.endedAt ?? launch?.endedAt ?? part?.steppedAt ?? null : null,
    secondsLeft: isOver || state === "starting" ? null : secondsLeft(progress),
    folder: run?.folder.path ?? `${root}/${name}`,
    ranks: ranksOf(state, progress.ranks, launch),
    error,
    reason,
    memory: planned === null ? null : { planned, live: null, peak: null, ...(isOver ? {} : held) },
    ...(run === null ? { tags: [], note: "" } : readNotes(run.folder)),
  };
}

/** A run that is about to begin, maybe anew, has not said yet on how many. */
function ranksOf(state: RunView["state"], told: number | null, launch: RunLaunch | null): number {
  const isAhead = state === "waiting" || (state === "starting" && launch?.state === "running");
  return (isAhead ? launch?.ranks : told) ?? told ?? launch?.ranks ?? 1;
}

interface State {
  readonly state: RunView["state"];
  readonly error: string | null;
  readonly reason: FailureReason | null;
}

const plain = (state: RunView["state"]): State => ({ state, error: null, reason: null });

function stateOf(run: ListedRun | null, launch: RunLaunch | null): State {
  if (launch?.state === "waiting") return plain("waiting");
  const { told, part, endedAt, error, reason } = run?.indexed.progress ?? UNTOLD;
  const isLaunched = launch?.state === "running";
  // What was told before this process began is of an earlier one.
  const since = run?.live?.since ?? launch?.startedAt ?? "";
  if (endedAt !== null && endedAt >= since) {
    if (told === "failed") return { state: "failed", error, reason };
    if (told === "stopped" || told === "finished") return plain(told);
  }
  if (run?.live || isLaunched) {
    if (launch?.isStopAsked) return plain("stopping");
    if (part === null || endedAt !== null || part.startedAt < since) return plain("starting");
    return plain(told === "paused" ? "paused" : "running");
  }
  return ended(run, launch);
}

/** A process that is gone without a last word was killed, was ended by a signal, has left an exit code, or none of it. */
function ended(run: ListedRun | null, launch: RunLaunch | null): State {
  if (launch?.isKilled) return plain("killed");
  const signal = signalOf(launch?.exitCode ?? null);
  if (signal !== null) {
    const cause = signal === "SIGKILL" ? " (maybe for its memory)" : "";
    const error =
      `Its process was ended by ${signal}${cause}: resume goes on from its newest checkpoint.`;
    return { state: "lost", error, reason: null };
  }
  if (launch && launch.exitCode !== null && launch.exitCode !== 0) {
    const error = launch.lastWords ?? `It ended with exit code ${launch.exitCode}.`;
    return { state: "failed", error, reason: launch.reason ?? null };
  }
  // Runs of earlier versions told nothing.
  if (run?.indexed.progress.told === "nothing" && launch === null) {
    const isDone = run.totalSteps > 0 && run.indexed.progress.step >= run.totalSteps;
    return plain(isDone ? "finished" : "stopped");
  }
  const error =
    "Its process is gone without a last word: it was killed (maybe for its memory), or the machine went down. " +
    "Resume goes on from its newest checkpoint.";
  return { state: "lost", error, reason: null };
}

/** The signal that an exit code tells of; null when it tells of none. */
function signalOf(exitCode: number | null): string | null {
  if (exitCode === null || exitCode <= 128) return null;
  const number = exitCode - 128;
  const found = Object.entries(constants.signals).find(([, value]) => value === number);
  return found?.[0] ?? `signal ${number}`;
}
