import { toneOf } from "../run/states.ts";
import type { RunView } from "../../runs/run_view.ts";

/** A run's state in a word; its colour says the same again. */
export function StateBadge({ state }: { state: RunView["state"] }) {
  return <span class={`badge ${toneOf(state)}`}>{state}</span>;
}
