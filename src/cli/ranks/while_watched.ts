import {
  BETWEEN_RUNS_SECONDS,
  type OpenCommunicator,
} from "../../distributed/open_communicator.ts";
import { RunWatch } from "../../distributed/watch/run_watch.ts";
import type { DistributedConfig } from "../../run/config/shared_schema.ts";
import type { RunEvents } from "../../run/events/run_events.ts";
import type { RunFolder } from "../../run/store/run_folder.ts";
import { howToGoOn, type RunCommand } from "../resume_hint.ts";
import { tellLauncher } from "./launcher_line.ts";

/** What is watched. */
export interface WatchedRun {
  readonly opened: OpenCommunicator;
  /** This rank's GPU, in a few words. */
  readonly gpu: string;
  readonly limits: DistributedConfig;
  readonly command: RunCommand | null;
  readonly folder: RunFolder;
  readonly events: RunEvents;
}

/**
 * Runs `body` while the ranks watch each other. All of them call it.
 *
 * @param body is given the watch, which wants to hear of the GPU's reads; null where nobody watches
 * @throws on rank 0 alone: when `body` fails on another, that process ends
 */
export async function whileWatched<Result>(
  { opened, gpu, limits, command, folder, events }: WatchedRun,
  body: (watch: RunWatch | null) => Promise<Result>,
): Promise<Result> {
  const { silence_seconds: silenceSeconds, stall_seconds: stallSeconds } = limits;
  if (opened.communicator.size === 1) return await body(null);
  if (silenceSeconds === null) {
    await tellLauncher({ type: "begun" });
    opened.waitAtMost(limits.wait_seconds);
    return await body(null);
  }
  const watch = await RunWatch.open(opened.communicator, gpu, { silenceSeconds, stallSeconds });
  await tellLauncher({ type: "begun" });
  opened.waitAtMost(limits.wait_seconds);
  let doing = "before its first step";
  let hint = howToGoOn(command, folder);
  const tell = () => {
    watch.doing(doing);
    watch.hint(hint);
    void tellLauncher({ type: "watched", who: watch.own, doing, hint });
  };
  tell();
  using _following = events.listen((event) => {
    if (event.type === "phaseBegan") {
      doing = `in the ${event.phase.replaceAll("_", " ")} of step ${event.step}`;
    }
    if (event.type === "started" || event.type === "checkpoint") hint = howToGoOn(command, folder);
    if (["started", "phaseBegan", "checkpoint"].includes(event.type)) tell();
  });
  const result = await watch.guard(() => body(watch));
  opened.waitAtMost(BETWEEN_RUNS_SECONDS);
  return result;
}
