import type { Communicator } from "../../distributed/communicator.ts";
import { broadcastValue } from "../../distributed/values.ts";
import type { RunEvents } from "../events/run_events.ts";
import type { RunControl } from "./run_control.ts";

/** The end of a step, as the control meets it. */
export interface StepEnd {
  /** The step that is done. */
  readonly step: number;
  readonly isLast: boolean;
  /** Whether a checkpoint is due anyway, as it always is after the last step. */
  readonly isSaveDue: boolean;
  /** Saves; all ranks call it. */
  readonly save: () => Promise<void>;
}

/** The next thing that all ranks do. */
type Order = "save" | "wait" | "go on" | "stop";

/** Seconds between two words of a pause to the other ranks, which so see that the first one is still there. */
const PAUSE_SECONDS = 10;

/**
 * Does what is due between two steps: the run obeys what it was asked, saves when that is due, and waits
 * while it is paused. The first rank is asked, and tells the others.
 *
 * @returns whether the run was asked to stop
 */
export async function betweenSteps(
  ranks: Communicator,
  control: RunControl,
  events: RunEvents,
  { step, isLast, isSaveDue, save }: StepEnd,
): Promise<boolean> {
  let isSaved = false;
  let isWaiting = false;
  const decide = async (): Promise<Order> => {
    await control.arrivals();
    const isSaveRequested = control.takeSave() || control.isStopRequested;
    if (!isSaved && (isSaveDue || isLast || isSaveRequested)) return "save";
    if (control.isStopRequested) return "stop";
    return isLast || !control.isPaused ? "go on" : "wait";
  };
  for (;;) {
    const order = await broadcastValue(ranks, ranks.rank === 0 ? await decide() : "wait");
    if (order === "save") {
      await save();
      isSaved = true;
      continue; // requests may have arrived meanwhile
    }
    if (order !== "wait") {
      if (isWaiting) events.emit({ type: "continued", step });
      return order === "stop";
    }
    if (!isWaiting) events.emit({ type: "paused", step });
    isWaiting = true;
    if (ranks.rank === 0) await control.nextRequest(PAUSE_SECONDS);
  }
}
