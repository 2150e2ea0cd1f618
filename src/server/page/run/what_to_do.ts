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
  const { state, kind } = run;
  const error = run.error ?? "";
  if (!["failed", "killed", "lost"].includes(state) || run.comparison !== null) return null;
  const change = smallerSettings(error);
  if (change !== null) {
    const text = "It needs more memory than its GPU has. Begin it again with smaller settings.";
    return { text, change, lowered: null };
  }
  if (/\bnot finite\b/.test(error) && kind !== "compare" && hasBegun(run)) {
    const policy = /the (generator|verifier)'s/.exec(error)?.[1] ?? "generator";
    return {
      text: "It diverged: its updates were too large. Its newest checkpoint is from before that.",
      change: null,
      lowered: `${kind === "sft" ? "" : `${policy}.`}optimizer.learning_rate`,
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

/** Settings that an error names, because the run would fit with them; null: it names none. */
function smallerSettings(error: string): Record<string, unknown> | null {
  const named = /(?:takes less, such as with|It fits, with [^:]*:)([^]*)$/.exec(error)?.[1];
  if (named === undefined) return null;
  const settings = [...named.matchAll(/([a-z_]+(?:\.[a-z_]+)*)=([^\s,'"]+?)\.?(?=[\s,'"]|$)/g)];
  return settings.length === 0
    ? null
    : Object.fromEntries(settings.map(([, key, text]) => [key, valueOf(text)]));
}

function valueOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
