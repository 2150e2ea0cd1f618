import { hasBegun } from "./states.ts";
import type { RunView } from "../../runs/run_view.ts";

/** What a person can do about a run that did not come to its end. */
export interface Advice {
  readonly text: string;
  /** Settings with which to begin it again; null: that would be no help. */
  readonly change: Readonly<Record<string, unknown>> | null;
  /** A learning rate with which to go on, lower than it was, by its key; null: that would be no help. */
  readonly lowered: string | null;
}

/** What to do about a run; null where its end is no failure, or its error says all. */
export function adviceOn(run: RunView): Advice | null {
  const { state, kind, reason } = run;
  if (!["failed", "killed", "lost"].includes(state) || run.comparison !== null) return null;
  if (reason?.code === "out-of-memory") return smaller(reason.settings);
  if (reason?.code === "diverged" && kind !== "compare" && hasBegun(run)) {
    return {
      text: "It diverged: its updates were too large. Its newest checkpoint is from before that.",
      change: null,
      lowered: reason.learningRate,
    };
  }
  if (!hasBegun(run)) {
    const text = "It never began, so nothing is lost: begin it again with other settings.";
    return { text, change: null, lowered: null };
  }
  if (state === "killed") {
    const text = "It was ended at once. Resume goes on from its newest checkpoint.";
    return { text, change: null, lowered: null };
  }
  return null;
}

/** @param settings with which it takes less; none where none help */
function smaller(settings: Readonly<Record<string, string>>): Advice {
  const text = "It needs more memory than its GPU has.";
  const changes = Object.entries(settings).map(([key, value]) => [key, valueOf(value)]);
  return changes.length === 0
    ? { text: `${text} Begin it again with a smaller model.`, change: null, lowered: null }
    : {
      text: `${text} Begin it again with smaller settings.`,
      change: Object.fromEntries(changes),
      lowered: null,
    };
}

function valueOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
