import { skippedCheckpoints } from "../store/checkpoint.ts";
import type { RunFolder } from "../store/run_folder.ts";
import type { RunEvents } from "./run_events.ts";

/** Tells of checkpoints that a resumed run passes over because they are not whole. */
export function warnOfSkippedCheckpoints(events: RunEvents, folder: RunFolder, step: number): void {
  for (const { path } of skippedCheckpoints(folder.checkpoints)) {
    const message = `${path} is not whole and is passed over; its steps are done again.`;
    events.emit({ type: "warning", step, message });
  }
}
