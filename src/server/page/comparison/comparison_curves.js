import { Fragment, h, useState } from "../vendor.js";
import { Curves } from "../charts/curves_view.js";
import { armsOf } from "./arms.js";

/**
 * @import { Comparison } from "../contract.ts"
 * @import { PageState } from "../url_state.js"
 */

/** @type {readonly ("generator" | "verifier")[]} */
const POLICIES = ["generator", "verifier"];

/**
 * The curves of all runs of a comparison that have begun, of one policy at a time.
 *
 * @param {{ comparison: Comparison, begun: readonly string[], route: PageState, version: string }} props
 */
export function ComparisonCurves({ comparison, begun, route, version }) {
  const [policy, setPolicy] = useState(POLICIES[0]);
  const arms = armsOf(comparison.runs);
  const ids = comparison.runs.flatMap(({ id }) => begun.includes(id) ? [id] : []);
  if (ids.length === 0) return h("p", { class: "quiet" }, "Its first run is loading its models.");
  return h(
    Fragment,
    null,
    h(
      "fieldset",
      { class: "tools policies" },
      h("legend", { class: "unseen" }, "Whose curves"),
      POLICIES.map((name) =>
        h(
          "label",
          { key: name },
          h("input", {
            type: "radio",
            name: "policy",
            checked: name === policy,
            onChange: () => setPolicy(name),
          }),
          name,
        )
      ),
    ),
    h(
      "p",
      { class: "quiet" },
      "By each run's own steps, among which Tango's verifier steps count; at the end all have done as many generator steps.",
    ),
    h(Curves, {
      key: policy,
      ids,
      route,
      version,
      arms: { policy, of: (id) => arms.get(id) ?? { label: id, colour: 0, dash: 0 } },
    }),
  );
}
