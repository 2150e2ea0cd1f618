import type { RunEvents } from "../events/run_events.ts";
import type { RunControl } from "./run_control.ts";

/** What a run does when its control asks for it. */
export interface StepEnd {
  /** The step that is done. */
  readonly step: number;
  readonly isLast: boolean;
  /** Whether a checkpoint is due anyway, as it always is after the last step. */
  readonly isSaveDue: boolean;
  readonly save: () => Promise<void>;
}

/**
 * What happens between two steps: the run obeys what it was asked, saves when that is due, and waits
 * while it is paused.
 *
 * @returns whether the run was asked to stop
 */
export async function betweenSteps(
  control: RunControl,
  events: RunEvents,
  { step, isLast, isSaveDue, save }: StepEnd,
): Promise<boolean> {
  let isSaved = false;
  let isWaiting = false;
  for (;;) {
    await control.arrivals();
    const isSaveRequested = control.takeSave() || control.isStopRequested;
    if (!isSaved && (isSaveDue || isLast || isSaveRequested)) {
      await save();
      isSaved = true;
      continue; // requests may have arrived meanwhile
    }
    if (control.isStopRequested || isLast || !control.isPaused) {
      if (isWaiting) events.emit({ type: "continued", step });
      return control.isStopRequested;
    }
    if (!isWaiting) events.emit({ type: "paused", step });
    isWaiting = true;
    await control.nextRequest();
  }
}
