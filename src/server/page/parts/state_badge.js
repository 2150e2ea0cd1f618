import { h } from "../vendor.js";
import { describeState } from "../run/states.js";

/**
 * @import { RunState } from "../contract.ts"
 */

/**
 * A run's state in a word; its colour says the same again.
 *
 * @param {{ state: RunState }} props
 */
export function StateBadge({ state }) {
  const { label, tone } = describeState(state);
  return h("span", { class: `badge ${tone}` }, label);
}
