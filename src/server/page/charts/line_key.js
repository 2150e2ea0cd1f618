import { h } from "../vendor.js";
import { DASHES } from "./colours.js";
import { SHAPES } from "./markers.js";

/**
 * How a line is drawn: its colour and shape, which say of what it is, and its dashes, which say of which run.
 *
 * @param {{ colour: number, dash: number }} props
 */
export function LineKey({ colour, dash }) {
  return h(
    "svg",
    { class: `line-key line-${colour}`, viewBox: "0 0 32 12", "aria-hidden": "true" },
    h("line", { x1: 0, x2: 32, y1: 6, y2: 6, "stroke-dasharray": DASHES[dash].join(" ") }),
    h("path", { d: SHAPES[colour], transform: "translate(16 6) scale(9)" }),
  );
}
