import { h, useState } from "../vendor.js";

/** @typedef {Event & { currentTarget: HTMLInputElement }} InputEvent */

/**
 * A field for a step; empty means none. It is told once it is typed: by Enter, or on leaving the field.
 *
 * @param {{ label: string, value: number | null, onChange: (step: number | null) => void }} props
 */
export function StepField({ label, value, onChange }) {
  // A page that is drawn anew meanwhile, as one of a live run is every second, shows it again.
  const [typed, setTyped] = useState(/** @type {string | null} */ (null));
  return h(
    "label",
    null,
    label,
    h("input", {
      type: "number",
      min: 0,
      step: 1,
      class: "step",
      value: typed ?? value ?? "",
      onInput: (/** @type {InputEvent} */ { currentTarget }) => setTyped(currentTarget.value),
      onBlur: () => setTyped(null),
      onChange: (/** @type {InputEvent} */ { currentTarget: { value: text } }) => {
        setTyped(null);
        onChange(text === "" ? null : Math.max(0, Math.round(Number(text))));
      },
    }),
  );
}
