import { h } from "../vendor.js";
import { go } from "../live/route.js";
import { StepField } from "../parts/step_field.js";

/**
 * @import { PageState } from "../url_state.js"
 * @import { TokenColour } from "./token_shades.js"
 */

/** @type {readonly [string, string][]} */
const FILTERS = [
  ["", "all"],
  ["disagrees", "verdict against the truth"],
  ["longest", "longest first"],
  ["cut-off", "cut off"],
  ["bad-format", "format broken"],
];

/** @type {readonly [string, string][]} */
const COLOURS = [["judgment", "verifier's judgment"], ["advantage", "advantage"]];

/** @type {readonly [TokenColour, string][]} */
const TOKENS = [
  ["", "nothing"],
  ["advantage", "advantage"],
  ["difference", "sampling against training"],
];

/**
 * Which samples, and what their colours say.
 *
 * @param {{ route: PageState }} props
 */
export function SampleTools({ route }) {
  return h(
    "div",
    { class: "tools", role: "group", "aria-label": "Which samples" },
    h(Choice, {
      label: "Show",
      value: route.filter,
      options: FILTERS,
      onChange: (filter) => go({ filter, page: 1 }),
    }),
    h(StepField, { label: "Step", value: route.step, onChange: (step) => go({ step, page: 1 }) }),
    h(Choice, {
      label: "Steps coloured by",
      value: route.colour,
      options: COLOURS,
      onChange: (colour) => go({ colour }),
    }),
    h(Choice, {
      label: "Tokens coloured by",
      value: route.tokens,
      options: TOKENS,
      onChange: (chosen) => go({ tokens: TOKENS.find(([name]) => name === chosen)?.[0] ?? "" }),
    }),
    route.group === ""
      ? null
      : h("button", { type: "button", onClick: () => go({ group: "", page: 1 }) }, "All problems"),
  );
}

/**
 * @param {{ label: string, value: string, options: readonly [string, string][], onChange: (value: string) => void }} props
 */
function Choice({ label, value, options, onChange }) {
  return h(
    "label",
    null,
    label,
    h(
      "select",
      {
        value,
        onChange: (/** @type {Event & { currentTarget: HTMLSelectElement }} */ { currentTarget }) =>
          onChange(currentTarget.value),
      },
      options.map(([name, text]) =>
        h("option", { key: name, value: name, selected: name === value }, text)
      ),
    ),
  );
}
