import { h, useEffect, useRef, useState } from "../vendor.js";
import { formatNumber, formatShare } from "../format.js";
import { useTheme } from "./colours.js";
import { LineKey } from "./line_key.js";
import { createPlot } from "./plot.js";

/**
 * @import uPlot from "uplot"
 * @import { PhaseSpan } from "./phase_spans.js"
 * @import { PlottedLine } from "./plot.js"
 */

/** In heights of a letter: the charts of a wall are larger than those of a desk. */
const HEIGHT = 12;

/**
 * A chart over steps with its values as text. Dragging zooms; with the keyboard the arrows move along the steps.
 *
 * @param {object} props
 * @param {string} props.title
 * @param {string} props.hint
 * @param {readonly PlottedLine[]} props.lines
 * @param {readonly number[]} props.steps
 * @param {readonly (readonly (number | null)[])[]} props.columns of each line
 * @param {boolean} [props.share]
 * @param {readonly [number, number]} props.range first and last step, the same for all charts beside each other
 * @param {readonly PhaseSpan[]} props.spans
 * @param {(range: { from: number | null, to: number | null }) => void} props.onZoom
 */
export function Chart({ title, hint, lines, steps, columns, share = false, range, spans, onZoom }) {
  const place = useRef(/** @type {HTMLDivElement | null} */ (null));
  const plot = useRef(/** @type {uPlot | null} */ (null));
  const latest = useRef({ range, spans, onZoom });
  latest.current = { range, spans, onZoom };
  const [cursor, setCursor] = useState(/** @type {number | null} */ (null));
  const theme = useTheme();
  const look = JSON.stringify([lines, share, theme]);

  useEffect(() => {
    const parent = place.current;
    if (parent === null) return;
    const made = createPlot(
      {
        lines,
        share,
        range: () => latest.current.range,
        spans: () => latest.current.spans,
        onZoom: (from, to) => latest.current.onZoom({ from: Math.max(0, from), to }),
        onReset: () => latest.current.onZoom({ from: null, to: null }),
        onCursor: setCursor,
        ...sizeOf(parent),
      },
      asData(steps, columns),
      parent,
    );
    plot.current = made;
    const watch = new ResizeObserver(() => made.setSize(sizeOf(parent)));
    watch.observe(parent);
    return () => {
      watch.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, [look]);

  useEffect(() => {
    plot.current?.setData(asData(steps, columns));
  }, [steps, columns, ...range]);

  /** @param {KeyboardEvent} event */
  const onKey = (event) => {
    const moves = { ArrowRight: 1, ArrowLeft: -1, Home: -steps.length, End: steps.length };
    const move = Reflect.get(moves, event.key);
    const drawn = plot.current;
    if (event.key === "Escape") return onZoom({ from: null, to: null });
    if (move === undefined || drawn === null || steps.length === 0) return;
    event.preventDefault();
    const next = Math.max(0, Math.min(steps.length - 1, (cursor ?? steps.length) + move));
    drawn.setCursor({ left: drawn.valToPos(steps[next], "x"), top: 10 });
  };

  const show = share ? formatShare : formatNumber;
  return h(
    "figure",
    { class: "chart" },
    h("figcaption", null, h("h2", null, title), h("span", { class: "hint" }, hint)),
    h("div", {
      class: "plot",
      ref: place,
      tabIndex: 0,
      role: "img",
      "aria-label":
        `${title}: curves over steps. Arrow keys move along the steps, Escape shows all.`,
      onKeyDown: onKey,
    }),
    h(
      "ul",
      { class: "legend" },
      lines.map((line, index) =>
        line.faint ? null : h(
          "li",
          { key: line.label },
          h(LineKey, line),
          h("span", null, line.label),
          h("strong", null, show(valueAt(columns[index], cursor))),
        )
      ),
      h("li", { class: "at" }, cursor === null ? "latest" : `step ${steps[cursor] ?? "–"}`),
    ),
  );
}

/** @param {HTMLElement} parent */
function sizeOf(parent) {
  const letter = parseFloat(getComputedStyle(document.documentElement).fontSize);
  return { width: parent.clientWidth, height: HEIGHT * letter };
}

/**
 * A line's value at a place, or the last one before it; with no place the very last.
 *
 * @param {readonly (number | null)[] | undefined} values
 * @param {number | null} place
 */
function valueAt(values, place) {
  if (values === undefined) return null;
  for (let index = Math.min(place ?? values.length, values.length - 1); index >= 0; index--) {
    if (values[index] !== null) return values[index];
  }
  return null;
}

/**
 * @param {readonly number[]} steps
 * @param {readonly (readonly (number | null)[])[]} columns
 * @returns {uPlot.AlignedData}
 */
function asData(steps, columns) {
  return [[...steps], ...columns.map((column) => [...column])];
}
