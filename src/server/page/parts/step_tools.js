import { Fragment, h } from "../vendor.js";
import { go } from "../live/route.js";
import { StepField } from "./step_field.js";

/**
 * The steps that charts show; dragging in one says the same.
 *
 * @param {{ from: number | null, to: number | null }} props
 */
export function StepRange({ from, to }) {
  return h(
    Fragment,
    null,
    h(StepField, { label: "From step", value: from, onChange: (value) => go({ from: value }) }),
    h(StepField, { label: "to", value: to, onChange: (value) => go({ to: value }) }),
    from === null && to === null
      ? h("span", { class: "quiet wide" }, "Drag in a chart to zoom")
      : h("button", { type: "button", onClick: () => go({ from: null, to: null }) }, "All steps"),
  );
}

/** @param {{ from: number | null, to: number | null }} props */
export function StepTools(props) {
  return h(
    "div",
    { class: "tools", role: "group", "aria-label": "Which steps" },
    h(StepRange, props),
  );
}
