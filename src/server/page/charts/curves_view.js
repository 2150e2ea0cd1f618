import { Fragment, h, useMemo } from "../vendor.js";
import { runPath } from "../live/api.js";
import { useLoaded } from "../live/use_loaded.js";
import { go } from "../live/route.js";
import { Failure } from "../parts/failure.js";
import { Chart } from "./chart.js";
import { CurveTools } from "./curve_tools.js";
import { curvesOf } from "./curves.js";
import { joinRuns } from "./join_runs.js";
import { phaseSpans } from "./phase_spans.js";
import { smooth } from "./smooth.js";

/**
 * @import { MetricsTable } from "../contract.ts"
 * @import { PageState } from "../url_state.js"
 * @import { Curve } from "./curves.js"
 * @import { PlottedLine } from "./plot.js"
 */

/** @typedef {{ id: string, table: MetricsTable }} LoadedRun */

const POINTS = 600;

/**
 * The curves of a run, and of those that it is compared with, on the same axes.
 *
 * @param {{ ids: readonly string[], route: PageState, version: string }} props
 */
export function Curves({ ids, route, version }) {
  const { from, to, more, smoothing } = route;
  /** @type {{ answer: { names: string[] } | null, error: Error | null }} */
  const named = useLoaded(runPath(ids[0], "metric-names"), version);
  const names = named.answer?.names ?? [];
  const curves = curvesOf(names, more);
  const metrics = [...new Set(curves.flatMap(({ lines }) => lines.map(({ metric }) => metric)))];
  const query = { names: metrics.join(","), from, to, points: POINTS };
  /** @param {string | undefined} id */
  const pathOf = (id) =>
    id === undefined || metrics.length === 0 ? null : runPath(id, "metrics", query);
  // At most four, each by a call of its own: hooks may not be called in a loop.
  /** @type {{ answer: MetricsTable | null, error: Error | null }[]} */
  const loaded = [
    useLoaded(pathOf(ids[0]), version, ids[0] ?? null),
    useLoaded(pathOf(ids[1]), version, ids[1] ?? null),
    useLoaded(pathOf(ids[2]), version, ids[2] ?? null),
    useLoaded(pathOf(ids[3]), version, ids[3] ?? null),
  ];
  const runs = ids.flatMap((id, place) => {
    const table = loaded[place]?.answer ?? null;
    return table === null ? [] : [{ id, table }];
  });
  const error = named.error ?? loaded.find((one) => one.error !== null)?.error ?? null;
  const first = loaded[0].answer;
  const spans = useMemo(() => first === null ? [] : phaseSpans(first.steps, first.phases), [first]);
  const hasPhases = new Set(spans.map(({ phase }) => phase)).size > 1;
  return h(
    Fragment,
    null,
    h(CurveTools, { id: ids[0], route, names, metrics, hasPhases }),
    h(Failure, { error }),
    named.answer !== null && names.length === 0
      ? h("p", { class: "quiet" }, "Nothing measured yet: the first step writes the first point.")
      : null,
    h(
      "div",
      { class: "charts" },
      curves.map((curve) =>
        h(OneCurve, {
          key: curve.title,
          curve,
          runs,
          smoothing: curve.noSmoothing ? 1 : smoothing,
          range: stepRange(runs),
          spans: hasPhases ? spans : [],
          signature: `${runs.map(({ id }) => id)}`,
        })
      ),
    ),
  );
}

/**
 * @param {object} props
 * @param {Curve} props.curve
 * @param {LoadedRun[]} props.runs
 * @param {number} props.smoothing
 * @param {readonly [number, number]} props.range
 * @param {ReturnType<typeof phaseSpans>} props.spans
 * @param {string} props.signature which runs
 */
function OneCurve({ curve, runs, smoothing, range, spans, signature }) {
  const { lines, steps, columns } = useMemo(
    () => plotted(curve, runs, smoothing),
    [signature, smoothing, curve.lines.length, ...runs.map(({ table }) => table)],
  );
  return h(Chart, {
    title: curve.title,
    hint: curve.hint,
    share: curve.share ?? false,
    lines,
    steps,
    columns,
    range,
    spans,
    onZoom: (range) => go(range),
  });
}

/**
 * @param {readonly LoadedRun[]} runs
 * @returns {[number, number]} their first and last step
 */
function stepRange(runs) {
  const steps = runs.flatMap(({ table }) =>
    table.steps.length === 0 ? [] : [table.steps[0], table.steps.at(-1) ?? 0]
  );
  return steps.length === 0 ? [0, 1] : [Math.min(...steps), Math.max(...steps)];
}

/**
 * @param {Curve} curve
 * @param {readonly LoadedRun[]} runs
 * @param {number} smoothing
 * @returns {{ lines: PlottedLine[], steps: number[], columns: (number | null)[][] }}
 */
function plotted(curve, runs, smoothing) {
  const sources = runs.flatMap(({ id, table }, dash) =>
    curve.lines.filter(({ metric }) => table.series[metric]?.some((value) => value !== null))
      .map(({ metric, label, colour }) => ({
        table,
        name: metric,
        line: { label: runs.length > 1 ? `${label}, ${id}` : label, colour, dash },
      }))
  );
  const { steps, columns } = joinRuns(sources);
  const lines = sources.map(({ line }) => line);
  if (smoothing <= 1) return { lines, steps, columns };
  return {
    lines: [...lines.map((line) => ({ ...line, faint: true })), ...lines],
    steps,
    columns: [...columns, ...columns.map((column) => smooth(column, smoothing))],
  };
}
