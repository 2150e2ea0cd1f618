import { h } from "../vendor.js";
import { runPath } from "../live/api.js";
import { go } from "../live/route.js";
import { StepRange } from "../parts/step_tools.js";

/**
 * @import { PageState } from "../url_state.js"
 */

/** @typedef {Event & { currentTarget: HTMLInputElement }} InputEvent */
/** @typedef {Event & { currentTarget: HTMLSelectElement }} SelectEvent */

/** More of them are too narrow for a chart of usual width. */
const SEEN_PHASES = 150;

/**
 * Which steps, how smooth, one more curve, and the numbers to take away.
 *
 * @param {{ id: string, route: PageState, names: readonly string[], metrics: readonly string[], phases: number }} props phases: stretches of steps that trained one policy; 0 where it is always the same
 */
export function CurveTools({ id, route, names, metrics, phases }) {
  const { from, to, smoothing, more } = route;
  return h(
    "div",
    { class: "tools", role: "group", "aria-label": "How the curves are drawn" },
    h(
      "label",
      null,
      "Smoothing",
      h("input", {
        type: "range",
        min: 1,
        max: 51,
        step: 2,
        value: smoothing,
        "aria-valuetext": `mean of ${smoothing} steps`,
        onInput: (/** @type {InputEvent} */ { currentTarget }) =>
          go({ smoothing: Number(currentTarget.value) }, { replace: true }),
      }),
      h("output", null, smoothing === 1 ? "none" : `${smoothing} steps`),
    ),
    h(StepRange, { from, to }),
    h(
      "label",
      null,
      "One more",
      h(
        "select",
        {
          value: more,
          onChange: (/** @type {SelectEvent} */ { currentTarget }) =>
            go({ more: currentTarget.value }),
        },
        h("option", { value: "" }, "–"),
        names.map((name) => h("option", { key: name, value: name, selected: name === more }, name)),
      ),
    ),
    h("a", {
      class: "button",
      href: runPath(id, "metrics", { names: metrics.join(","), from, to, format: "csv" }),
      download: `${id}.csv`,
    }, "CSV"),
    phases > 0
      ? h(
        "span",
        { class: "phases" },
        h("span", { class: "shade generator", "aria-hidden": "true" }),
        "generator steps",
        h("span", { class: "shade verifier", "aria-hidden": "true" }),
        "verifier steps",
        phases > SEEN_PHASES ? " (zoom in to see them)" : null,
      )
      : null,
  );
}
