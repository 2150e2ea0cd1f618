/** One uPlot: how it looks, and the phases behind it. */

import UPlot from "uplot";
import { formatNumber } from "../format.ts";
import { colourOf, DASHES } from "./colours.ts";
import { drawMarkers } from "./markers.ts";
import type { PhaseSpan } from "./phase_spans.ts";

export interface PlottedLine {
  readonly label: string;
  readonly colour: number;
  /** Place among the runs that are compared. */
  readonly dash: number;
  /** What a smoothed line was made of. */
  readonly faint?: boolean;
}

export interface PlotOptions {
  readonly lines: readonly PlottedLine[];
  /** Values are shares, drawn in percent. */
  readonly share: boolean;
  /** First and last step, asked whenever it is drawn. */
  readonly range: () => readonly [number, number];
  /** Asked whenever it is drawn. */
  readonly spans: () => readonly PhaseSpan[];
  readonly onZoom: (from: number, to: number) => void;
  readonly onReset: () => void;
  readonly onCursor: (place: number | null) => void;
  readonly width: number;
  readonly height: number;
}

/** Pixels; narrower ones behind the curves would only flicker. */
const NARROWEST_SHADE = 6;
/** Pixels; narrower ones on the ground of the chart would run into each other. */
const NARROWEST_MARK = 1;
const MARK_HEIGHT = 4;

export function createPlot(
  options: PlotOptions,
  data: uPlot.AlignedData,
  parent: HTMLElement,
): uPlot {
  const { lines, share, range, spans, onZoom, onReset, onCursor, width, height } = options;
  const scale = parseFloat(getComputedStyle(document.documentElement).fontSize) / 16;
  const [ink, grid] = [colourOf("--quiet"), colourOf("--line")];
  const strokes = lines.map(({ colour }) => colourOf(`--line-${colour}`));
  const shades: Record<string, string> = {
    generator: colourOf("--shade-generator"),
    verifier: colourOf("--shade-verifier"),
  };
  const marks: Record<string, string> = {
    generator: colourOf("--line-0"),
    verifier: colourOf("--line-1"),
  };
  const axis = {
    stroke: ink,
    font: `${12 * scale}px ${getComputedStyle(document.body).fontFamily}`,
    grid: { stroke: grid, width: 1 },
    ticks: { stroke: grid, width: 1, size: 4 },
  };
  const plot = new UPlot(
    {
      width,
      height,
      legend: { show: false },
      scales: {
        x: {
          time: false,
          range: () => {
            const [first, last] = range();
            return first === last ? [first - 0.5, last + 0.5] : [first, last];
          },
        },
        y: { range: (_, low, high) => share ? shareRange(low, high) : valueRange(low, high) },
      },
      axes: [
        { ...axis, size: 30 * scale, incrs: WHOLE_NUMBERS },
        {
          ...axis,
          size: 56 * scale,
          values: (_, ticks) =>
            ticks.map((tick) =>
              share ? `${Number((tick * 100).toFixed(1))} %` : formatNumber(tick)
            ),
        },
      ],
      cursor: {
        sync: { key: "steps" },
        drag: { x: true, y: false },
        y: false,
        points: { size: 7 },
        bind: { dblclick: () => () => (onReset(), null) },
      },
      series: [
        {},
        ...lines.map(({ label, dash, faint }, line) => ({
          label,
          stroke: strokes[line],
          alpha: faint ? 0.3 : 1,
          width: faint ? 1 : 2,
          dash: DASHES[dash] ?? [],
          spanGaps: true,
          points: { show: false },
        })),
      ],
      hooks: {
        drawClear: [(drawn) => shade(drawn, spans(), shades, marks)],
        drawSeries: [(drawn, series) => {
          const { colour, faint } = lines[series - 1];
          if (faint) return;
          drawMarkers(drawn, series, colour, strokes[series - 1], 7 * scale * devicePixelRatio);
        }],
        setCursor: [({ cursor }) => onCursor(cursor.idx ?? null)],
        setSelect: [(drawn) => {
          const { left, width: wide } = drawn.select;
          if (wide < 4) return;
          onZoom(
            Math.floor(drawn.posToVal(left, "x")),
            Math.ceil(drawn.posToVal(left + wide, "x")),
          );
          drawn.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
        }],
      },
    },
    data,
    parent,
  );
  return plot;
}

const WHOLE_NUMBERS = [1, 2, 5].flatMap((first) =>
  Array.from({ length: 8 }, (_, power) => first * 10 ** power)
).sort((a, b) => a - b);

/** The axis of values; those that are all the same lie in the middle of it, or on its ground where they are 0. */
function valueRange(low: number, high: number): uPlot.Range.MinMax {
  if (!Number.isFinite(low) || !Number.isFinite(high)) return [0, 1];
  if (low !== high) return UPlot.rangeNum(low, high, 0.1, true);
  return low === 0 ? [0, 1] : [Math.min(0, 2 * low), Math.max(0, 2 * low)];
}

/** The axis of shares: no further than 0 and 100 %, and close enough to see a difference. */
function shareRange(low: number, high: number): [number, number] {
  if (!Number.isFinite(low) || !Number.isFinite(high)) return [0, 1];
  const margin = Math.max(0.02, (high - low) * 0.1);
  return [Math.max(0, low - margin), Math.min(1, high + margin)];
}

/**
 * Shades the steps of each policy behind the curves and marks them on the ground of the chart; not where they are
 * too narrow to be told apart.
 *
 * @param shades by phase
 * @param marks by phase
 */
function shade(
  plot: uPlot,
  spans: readonly PhaseSpan[],
  shades: Readonly<Record<string, string>>,
  marks: Readonly<Record<string, string>>,
) {
  const { ctx, bbox } = plot;
  const { min, max } = plot.scales.x;
  if (min === undefined || max === undefined || spans.length === 0) return;
  const seen = spans.filter(({ from, to }) => to > min && from < max);
  const pixels = seen.map(({ from, to }) =>
    [from, to].map((step) => plot.valToPos(step, "x", true))
  );
  const wide = pixels.reduce((sum, [left, right]) => sum + right - left, 0) / seen.length /
    devicePixelRatio;
  if (!(wide >= NARROWEST_MARK)) return;
  const bottom = bbox.top + bbox.height;
  const mark = MARK_HEIGHT * devicePixelRatio;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  for (const [place, [left, right]] of pixels.entries()) {
    const { phase } = seen[place];
    ctx.fillStyle = shades[phase];
    if (wide >= NARROWEST_SHADE) ctx.fillRect(left, bbox.top, right - left, bbox.height);
    ctx.fillStyle = marks[phase];
    ctx.fillRect(left, bottom - mark, right - left, mark);
  }
  ctx.restore();
}
