import { h, useState } from "../vendor.js";
import { formatSize } from "../format.js";
import { Failure } from "../parts/failure.js";

/**
 * @import { Plan } from "../contract.ts"
 */

/**
 * A button that asks for a memory plan, and the plan.
 *
 * @param {{ label: string, load: () => Promise<Plan> }} props
 */
export function PlanButton({ label, load }) {
  const [plan, setPlan] = useState(/** @type {Plan | null} */ (null));
  const [error, setError] = useState(/** @type {Error | null} */ (null));
  const [isBusy, setBusy] = useState(false);
  const ask = async () => {
    setBusy(true);
    setError(null);
    try {
      setPlan(await load());
    } catch (failure) {
      setPlan(null);
      setError(failure instanceof Error ? failure : new Error(String(failure)));
    }
    setBusy(false);
  };
  return h(
    "div",
    { class: "plan" },
    h("button", { type: "button", onClick: ask, disabled: isBusy }, isBusy ? "Planning …" : label),
    h(
      "div",
      { "aria-live": "polite" },
      h(Failure, { error }),
      plan === null ? null : h(PlanTable, { plan }),
    ),
  );
}

/** @param {{ plan: Plan }} props */
function PlanTable({ plan: { peakBytes, limitBytes, resident, phases } }) {
  const isTooMuch = limitBytes !== null && peakBytes > limitBytes;
  /** @param {{ what: string, bytes: number }} use */
  const row = ({ what, bytes }) =>
    h("tr", { key: what }, h("th", { scope: "row" }, what), h("td", null, formatSize(bytes)));
  return h(
    "table",
    null,
    h(
      "caption",
      { class: isTooMuch ? "bad" : "" },
      [
        `At most ${formatSize(peakBytes)}`,
        limitBytes === null ? "." : ` of ${formatSize(limitBytes)}.`,
        isTooMuch ? " It does not fit." : "",
      ].join(""),
    ),
    h(
      "thead",
      null,
      h("tr", null, h("th", { scope: "col" }, "Use"), h("th", { scope: "col" }, "Memory")),
    ),
    h(
      "tbody",
      null,
      resident.map(row),
      phases.length === 0 ? null : h(
        "tr",
        { class: "divider" },
        h("th", { scope: "rowgroup", colSpan: 2 }, "one after the other, the largest counts"),
      ),
      phases.map(row),
    ),
  );
}
