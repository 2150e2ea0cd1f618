import { useMemo } from "preact/hooks";
import { runPath } from "../live/api.ts";
import { useAllLoaded, useLoaded } from "../live/use_loaded.ts";
import { go, useRoute } from "../live/route.ts";
import { Failure } from "../parts/failure.tsx";
import { Chart } from "./chart.tsx";
import { CurveTools } from "./curve_tools.tsx";
import { armCurves, type Curve, type CurvePolicy, curvesOf } from "./curves.ts";
import { joinRuns } from "./join_runs.ts";
import { phaseSpans } from "./phase_spans.ts";
import { smooth } from "./smooth.ts";
import type { MetricsTable } from "../../index/read_metrics.ts";
import type { PlottedLine } from "./plot.ts";

interface LoadedRun {
  readonly id: string;
  readonly table: MetricsTable;
}

/** How a run of a comparison is drawn, of which only one line is in each chart. */
type Arm = Pick<PlottedLine, "label" | "colour" | "dash">;

const POINTS = 600;

/** The curves of a run, and of those that it is compared with, on the same axes. */
export function Curves(
  { ids, version, arms }: {
    readonly ids: readonly string[];
    readonly version: string;
    /** Of a comparison, and the policy whose lines are drawn; else a line's colour says which policy it is of. */
    readonly arms?: { policy: CurvePolicy; of: (id: string) => Arm };
  },
) {
  const { from, to, more, smoothing } = useRoute();
  const named = useLoaded<{ names: string[] }>(runPath(ids[0], "metric-names"), version);
  const names = named.answer?.names ?? [];
  const curves = arms === undefined
    ? curvesOf(names, more)
    : armCurves(curvesOf(names, more), arms.policy);
  const metrics = [...new Set(curves.flatMap(({ lines }) => lines.map(({ metric }) => metric)))];
  const query = { names: metrics.join(","), from, to, points: POINTS };
  const paths = metrics.length === 0 ? [] : ids.map((id) => runPath(id, "metrics", query));
  const loaded = useAllLoaded<MetricsTable>(paths, version, ids.join(" "));
  const runs = (loaded.answer ?? []).map((table, place) => ({ id: ids[place], table }));
  const error = named.error ?? loaded.error;
  const first = arms === undefined ? loaded.answer?.[0] ?? null : null;
  const spans = useMemo(() => first === null ? [] : phaseSpans(first.steps, first.phases), [first]);
  const hasPhases = new Set(spans.map(({ phase }) => phase)).size > 1;
  return (
    <>
      <CurveTools
        id={ids[0]}
        names={names}
        metrics={metrics}
        phases={hasPhases ? spans.length : 0}
      />
      <Failure error={error} />
      {named.answer !== null && names.length === 0 && (
        <p class="quiet">Nothing measured yet: the first step writes the first point.</p>
      )}
      <div class="charts">
        {curves.map((curve) => (
          <OneCurve
            key={curve.title}
            curve={curve}
            runs={runs}
            smoothing={curve.noSmoothing ? 1 : smoothing}
            range={stepRange(runs)}
            spans={hasPhases ? spans : []}
            signature={`${runs.map(({ id }) => id)} ${arms?.policy}`}
            armOf={arms?.of}
          />
        ))}
      </div>
    </>
  );
}

function OneCurve({
  curve,
  runs,
  smoothing,
  range,
  spans,
  signature,
  armOf,
}: {
  readonly curve: Curve;
  readonly runs: LoadedRun[];
  readonly smoothing: number;
  readonly range: readonly [number, number];
  readonly spans: ReturnType<typeof phaseSpans>;
  /** Which runs. */
  readonly signature: string;
  readonly armOf?: (id: string) => Arm;
}) {
  const { lines, steps, columns } = useMemo(
    () => plotted(curve, runs, smoothing, armOf),
    [signature, smoothing, curve.lines.length, ...runs.map(({ table }) => table)],
  );
  return (
    <Chart
      title={curve.title}
      hint={curve.hint}
      share={curve.share ?? false}
      lines={lines}
      steps={steps}
      columns={columns}
      range={range}
      spans={spans}
      onZoom={(range) => go(range)}
    />
  );
}

/** @returns their first and last step */
function stepRange(runs: readonly LoadedRun[]): [number, number] {
  const steps = runs.flatMap(({ table }) =>
    table.steps.length === 0 ? [] : [table.steps[0], table.steps.at(-1) ?? 0]
  );
  return steps.length === 0 ? [0, 1] : [Math.min(...steps), Math.max(...steps)];
}

function plotted(
  curve: Curve,
  runs: readonly LoadedRun[],
  smoothing: number,
  armOf?: (id: string) => Arm,
): { lines: PlottedLine[]; steps: number[]; columns: (number | null)[][] } {
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
