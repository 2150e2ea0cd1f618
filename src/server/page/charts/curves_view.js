import { Fragment, h, useMemo } from "../vendor.js";
import { runPath } from "../live/api.js";
import { useAllLoaded, useLoaded } from "../live/use_loaded.js";
import { go } from "../live/route.js";
import { Failure } from "../parts/failure.js";
import { Chart } from "./chart.js";
import { CurveTools } from "./curve_tools.js";
import { armCurves, curvesOf } from "./curves.js";
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

/**
 * How a run of a comparison is drawn, of which only one line is in each chart.
 *
 * @typedef {{ label: string, colour: number, dash: number }} Arm
 */

const POINTS = 600;

/**
 * The curves of a run, and of those that it is compared with, on the same axes.
 *
 * @param {object} props
 * @param {readonly string[]} props.ids
 * @param {PageState} props.route
 * @param {string} props.version
 * @param {{ policy: "generator" | "verifier", of: (id: string) => Arm }} [props.arms] of a comparison, and the policy
 *   whose lines are drawn; else a line's colour says which policy it is of
 */
export function Curves({ ids, route, version, arms }) {
  const { from, to, more, smoothing } = route;
  /** @type {{ answer: { names: string[] } | null, error: Error | null }} */
  const named = useLoaded(runPath(ids[0], "metric-names"), version);
  const names = named.answer?.names ?? [];
  const curves = arms === undefined
    ? curvesOf(names, more)
    : armCurves(curvesOf(names, more), arms.policy);
  const metrics = [...new Set(curves.flatMap(({ lines }) => lines.map(({ metric }) => metric)))];
  const query = { names: metrics.join(","), from, to, points: POINTS };
  const paths = metrics.length === 0 ? [] : ids.map((id) => runPath(id, "metrics", query));
  /** @type {{ answer: MetricsTable[] | null, error: Error | null }} */
  const loaded = useAllLoaded(paths, version, ids.join(" "));
  const runs = (loaded.answer ?? []).map((table, place) => ({ id: ids[place], table }));
  const error = named.error ?? loaded.error;
  const first = arms === undefined ? loaded.answer?.[0] ?? null : null;
  const spans = useMemo(() => first === null ? [] : phaseSpans(first.steps, first.phases), [first]);
  const hasPhases = new Set(spans.map(({ phase }) => phase)).size > 1;
  return h(
    Fragment,
    null,
    h(CurveTools, { id: ids[0], route, names, metrics, phases: hasPhases ? spans.length : 0 }),
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
          signature: `${runs.map(({ id }) => id)} ${arms?.policy}`,
          armOf: arms?.of,
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
 * @param {(id: string) => Arm} [props.armOf]
 */
function OneCurve({ curve, runs, smoothing, range, spans, signature, armOf }) {
  const { lines, steps, columns } = useMemo(
    () => plotted(curve, runs, smoothing, armOf),
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
 * @param {(id: string) => Arm} [armOf]
 * @returns {{ lines: PlottedLine[], steps: number[], columns: (number | null)[][] }}
 */
function plotted(curve, runs, smoothing, armOf) {
  const sources = runs.flatMap(({ id, table }, dash) =>
    curve.lines.filter(({ metric }) => table.series[metric]?.some((value) => value !== null))
      .map(({ metric, label, colour }) => ({
        table,
        name: metric,
        line: armOf?.(id) ?? { label: runs.length > 1 ? `${label}, ${id}` : label, colour, dash },
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
