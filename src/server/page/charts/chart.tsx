import { useEffect, useRef, useState } from "preact/hooks";
import { formatNumber, formatShare } from "../format.ts";
import { useTheme } from "./colours.ts";
import { LineKey } from "./line_key.tsx";
import { createPlot, type PlottedLine } from "./plot.ts";
import type uPlot from "uplot";
import type { PhaseSpan } from "./phase_spans.ts";

/** In heights of a letter: the charts of a wall are larger than those of a desk. */
const HEIGHT = 12;

/** A chart over steps with its values as text. Dragging zooms; with the keyboard the arrows move along the steps. */
export function Chart(
  { title, hint, lines, steps, columns, share = false, range, spans, onZoom }: {
    readonly title: string;
    readonly hint: string;
    readonly lines: readonly PlottedLine[];
    readonly steps: readonly number[];
    /** Of each line. */
    readonly columns: readonly (readonly (number | null)[])[];
    readonly share?: boolean;
    /** First and last step, the same for all charts beside each other. */
    readonly range: readonly [number, number];
    readonly spans: readonly PhaseSpan[];
    readonly onZoom: (range: { from: number | null; to: number | null }) => void;
  },
) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const latest = useRef({ range, spans, onZoom });
  latest.current = { range, spans, onZoom };
  const [cursor, setCursor] = useState<number | null>(null);
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

  const onKey = (event: KeyboardEvent) => {
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
  return (
    <figure class="chart">
      <figcaption>
        <h2>{title}</h2>
        <span class="hint">{hint}</span>
      </figcaption>
      <div
        class="plot"
        ref={place}
        tabIndex={0}
        role="img"
        aria-label={`${title}: curves over steps. Arrow keys move along the steps, Escape shows all.`}
        onKeyDown={onKey}
      />
      <ul class="legend">
        {lines.map((line, index) =>
          line.faint ? null : (
            <li key={line.label}>
              <LineKey {...line} />
              <span>{line.label}</span>
              <strong>{show(settingAt(columns[index], cursor))}</strong>
            </li>
          )
        )}
        <li class="at">{cursor === null ? "latest" : `step ${steps[cursor] ?? "–"}`}</li>
      </ul>
    </figure>
  );
}

function sizeOf(parent: HTMLElement) {
  const letter = parseFloat(getComputedStyle(document.documentElement).fontSize);
  return { width: parent.clientWidth, height: HEIGHT * letter };
}

/** A line's value at a place, or the last one before it; with no place the very last. */
function settingAt(values: readonly (number | null)[] | undefined, place: number | null) {
  if (values === undefined) return null;
  for (let index = Math.min(place ?? values.length, values.length - 1); index >= 0; index--) {
    if (values[index] !== null) return values[index];
  }
  return null;
}

function asData(
  steps: readonly number[],
  columns: readonly (readonly (number | null)[])[],
): uPlot.AlignedData {
  return [[...steps], ...columns.map((column) => [...column])];
}
