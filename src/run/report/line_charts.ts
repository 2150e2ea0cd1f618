/** Panels of line charts side by side as one SVG picture. */

import * as echarts from "echarts";

/** A point: x and y. */
export type Point = readonly [number, number];

/** One line of a panel. */
export interface LineSeries {
  readonly name: string;
  readonly color: string;
  /** In order of x; when empty the line is left out. */
  readonly points: readonly Point[];
  /** The values before smoothing, drawn faintly behind the line. */
  readonly rawPoints?: readonly Point[];
  /** Lower and upper edge at each point, drawn as a band around the line. */
  readonly band?: readonly (readonly [number, number])[];
  readonly dashed?: boolean;
}

/** One chart. */
export interface Panel {
  readonly title: string;
  /** Says what the panel shows, in small letters under the title. */
  readonly subtitle: string;
  readonly xName: string;
  readonly series: readonly LineSeries[];
  /** Values are shares: the axis runs from 0 to 100 %. */
  readonly isShare?: boolean;
  /** A thin horizontal line, such as chance level. */
  readonly reference?: { readonly value: number; readonly label: string };
}

/** Colours that people with any kind of colour vision tell apart (Okabe and Ito). */
export const SERIES_COLORS = [
  "#0072b2",
  "#d55e00",
  "#009e73",
  "#cc79a7",
  "#e69f00",
  "#56b4e9",
  "#24292f",
] as const;

const PANEL_WIDTH = 520;
const HEIGHT = 380;
const INK = "#24292f";
const FAINT = "#6e7781";
const GRID_LINE = "#e6e8eb";
const LEGEND_WIDTH = PANEL_WIDTH - 32;
const LEGEND_GAP = 28;
const LEGEND_MARK = 18;
const LEGEND_LINE = 24;
/** Of a letter in the legend, at most on average. */
const LETTER_WIDTH = 7;

/** Draws panels from left to right and returns the SVG text. */
export function renderLineCharts(panels: readonly Panel[]): string {
  const width = PANEL_WIDTH * panels.length;
  const lines = Math.max(1, ...panels.map(legendLines));
  const room = (lines - 1) * LEGEND_LINE;
  const chart = echarts.init(null, null, {
    renderer: "svg",
    ssr: true,
    width,
    height: HEIGHT + room,
  });
  try {
    chart.setOption({
      animation: false,
      backgroundColor: "#ffffff",
      textStyle: { fontFamily: "Helvetica, Arial, sans-serif", color: INK },
      title: panels.map((panel, index) => ({
        text: panel.title,
        subtext: panel.subtitle,
        left: index * PANEL_WIDTH + 20,
        top: 12,
        textStyle: { fontSize: 16, color: INK },
        subtextStyle: { fontSize: 12, color: FAINT },
      })),
      legend: panels.map((panel, index) => ({
        data: panel.series.filter(isDrawn).map(({ name }) => name),
        left: index * PANEL_WIDTH + 16,
        top: 60,
        ...(lines > 1 && { width: LEGEND_WIDTH }),
        itemGap: LEGEND_GAP, // text widths are estimated and differ between fonts
        itemWidth: LEGEND_MARK,
        itemHeight: 8,
        textStyle: { fontSize: 12, color: INK },
      })),
      grid: panels.map((_, index) => ({
        left: index * PANEL_WIDTH + 64,
        width: PANEL_WIDTH - 64 - 40,
        top: 96 + room,
        bottom: 52,
      })),
      xAxis: panels.map((panel, index) => ({
        type: "value",
        gridIndex: index,
        name: panel.xName,
        nameLocation: "middle",
        nameGap: 30,
        min: "dataMin",
        max: "dataMax",
        minInterval: 1,
        axisLine: { lineStyle: { color: FAINT } },
        axisLabel: { color: FAINT, hideOverlap: true },
        splitLine: { show: false },
      })),
      yAxis: panels.map((panel, index) => ({
        type: "value",
        gridIndex: index,
        ...(panel.isShare ? { min: 0, max: 1 } : { scale: true }),
        axisLabel: {
          color: FAINT,
          ...(panel.isShare
            ? { formatter: (value: number) => `${Math.round(value * 100)} %` }
            : {}),
        },
        splitLine: { lineStyle: { color: GRID_LINE } },
      })),
      series: panels.flatMap((panel, index) =>
        panel.series.filter(isDrawn).flatMap((line, order) =>
          drawLine(line, index, order === 0 ? panel.reference : undefined)
        )
      ),
    });
    return reproducible(chart.renderToSVGString());
  } finally {
    chart.dispose();
  }
}

/** Lines that a panel's legend takes, as widths of letters are estimated. */
function legendLines({ series }: Panel): number {
  let lines = 1, used = 0;
  for (const { name } of series.filter(isDrawn)) {
    const width = LEGEND_MARK + 5 + LETTER_WIDTH * name.length;
    if (used > 0 && used + width > LEGEND_WIDTH) {
      lines++;
      used = 0;
    }
    used += width + LEGEND_GAP;
  }
  return lines;
}

/** Without hover styles and the process-wide numbers in names, equal charts are equal texts. */
function reproducible(svg: string): string {
  return svg
    .replace(/<style[^>]*>[^]*?<\/style>/g, "")
    .replace(/ class="zr[^"]*"/g, "")
    .replace(/\bzr\d+-/g, "zr-")
    .replace(/\n{2,}/g, "\n")
    .trim() + "\n";
}

function isDrawn(line: LineSeries): boolean {
  return line.points.length > 0;
}

function drawLine(
  line: LineSeries,
  panel: number,
  reference: Panel["reference"],
): echarts.SeriesOption[] {
  const { name, color } = line;
  const axes = { xAxisIndex: panel, yAxisIndex: panel, silent: true };
  const behind: echarts.SeriesOption[] = [];
  if (line.band !== undefined) behind.push(...drawBand(line.points, line.band, color, axes));
  if (line.rawPoints !== undefined) {
    behind.push({
      type: "line",
      ...axes,
      data: asData(line.rawPoints),
      symbol: "none",
      lineStyle: { color, width: 1, opacity: 0.25 },
    });
  }
  return [...behind, {
    type: "line",
    name,
    ...axes,
    color,
    data: asData(line.points),
    symbol: "circle",
    symbolSize: 5,
    showSymbol: line.points.length <= 40 && line.rawPoints === undefined,
    lineStyle: { color, width: 2.5, type: line.dashed ? "dashed" : "solid" },
    ...(reference === undefined ? {} : {
      markLine: {
        symbol: "none",
        data: [{ yAxis: reference.value }],
        lineStyle: { color: FAINT, type: "dotted", width: 1 },
        label: {
          formatter: reference.label,
          position: "insideEndBottom",
          color: FAINT,
          fontSize: 11,
        },
      },
    }),
  }];
}

/** A band is an invisible line at its lower edge with its height stacked on it. */
function drawBand(
  points: readonly Point[],
  band: readonly (readonly [number, number])[],
  color: string,
  axes: { xAxisIndex: number; yAxisIndex: number; silent: boolean },
): echarts.SeriesOption[] {
  const common = {
    type: "line" as const,
    ...axes,
    symbol: "none",
    lineStyle: { opacity: 0 },
    stack: `band ${axes.xAxisIndex} ${color}`,
    stackStrategy: "all" as const,
  };
  return [
    { ...common, data: points.map(([x], i) => [x, band[i][0]]) },
    {
      ...common,
      data: points.map(([x], i) => [x, band[i][1] - band[i][0]]),
      areaStyle: { color, opacity: 0.15 },
    },
  ];
}

function asData(points: readonly Point[]): number[][] {
  return points.map(([x, y]) => [x, y]);
}
