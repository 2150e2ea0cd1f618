import { findLostBest } from "../store/best.ts";
import { describeDeviceChange } from "../store/run_device.ts";
import type { RunFolder } from "../store/run_folder.ts";
import type { Course, LoopConfig } from "./course.ts";
import { type LoopState, restoreState } from "./loop_state.ts";

/** The state that a resumed run goes on from. */
export interface RestoredCourse {
  readonly state: LoopState;
  /** Differences from the checkpoint, and losses. */
  readonly warnings: readonly string[];
}

/**
 * Puts a course back to where a checkpoint was taken; all ranks call it. Best weights that are damaged are no longer
 * the best.
 *
 * @throws UserError as `restoreState` does
 */
export async function restoreCourse<Config extends LoopConfig>(
  path: string,
  course: Course<Config>,
  folder: RunFolder,
): Promise<RestoredCourse> {
  const state = await restoreState(path, course);
  const change = state.device && describeDeviceChange(state.device, course.device);
  const bests = course.trained.map((policy) => folder.best(policy));
  const kept = course.config.schedule.keep_best ? state.best : null;
  const lostBest = await findLostBest(course.ranks, kept, bests);
  return {
    state: { ...state, best: lostBest === null ? state.best : null },
    warnings: [change, lostBest].filter((message) => message !== null),
  };
}
