import { h } from "../vendor.js";

/**
 * A field for a step; empty means none.
 *
 * @param {{ label: string, value: number | null, onChange: (step: number | null) => void }} props
 */
export function StepField({ label, value, onChange }) {
  return h(
    "label",
    null,
    label,
    h("input", {
      type: "number",
      min: 0,
      step: 1,
      class: "step",
      value: value ?? "",
      onChange: (/** @type {Event & { currentTarget: HTMLInputElement }} */ { currentTarget }) =>
        onChange(
          currentTarget.value === "" ? null : Math.max(0, Math.round(Number(currentTarget.value))),
        ),
    }),
  );
}
