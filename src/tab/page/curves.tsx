import { useMemo, useState } from "preact/hooks";
import { Chart } from "../../server/page/charts/chart.tsx";
import { type Curve, curvesOf } from "../../server/page/charts/curves.ts";
import type { MetricsLine } from "../../run/store/metrics_log.ts";

/** The curves that have a point so far; all show the same steps. */
export function Curves({ lines, total }: { lines: readonly MetricsLine[]; total: number }) {
  const [zoom, setZoom] = useState<{ from: number | null; to: number | null }>({
    from: null,
    to: null,
  });
  const names = [...new Set(lines.flatMap((line) => Object.keys(line)))];
  const last = lines.at(-1)?.step ?? total;
  const range = [zoom.from ?? 0, zoom.to ?? Math.max(1, last)] as const;
  return (
    <div class="charts">
      {curvesOf(names, "").map((curve) => (
        <OneCurve key={curve.title} curve={curve} lines={lines} range={range} onZoom={setZoom} />
      ))}
    </div>
  );
}

function OneCurve({ curve, lines, range, onZoom }: {
  readonly curve: Curve;
  readonly lines: readonly MetricsLine[];
  readonly range: readonly [number, number];
  readonly onZoom: (range: { from: number | null; to: number | null }) => void;
}) {
  const { steps, columns } = useMemo(
    () => columnsOf(lines, curve.lines.map(({ metric }) => metric)),
    [lines, curve.lines.length],
  );
  return (
    <Chart
      title={curve.title}
      hint={curve.hint}
      share={curve.share}
      lines={curve.lines.map(({ label, colour }) => ({ label, colour, dash: 0 }))}
      steps={steps}
      columns={columns}
      range={range}
      spans={[]}
      onZoom={onZoom}
    />
  );
}

/** The steps at which one of some metrics was measured, and the values of each there. */
export function columnsOf(
  lines: readonly MetricsLine[],
  metrics: readonly string[],
): { steps: number[]; columns: (number | null)[][] } {
  const rows = new Map<number, (number | null)[]>();
  for (const line of lines) {
    for (const [place, metric] of metrics.entries()) {
      const value = line[metric];
      if (typeof value !== "number") continue;
      const row = rows.get(line.step) ?? metrics.map(() => null);
      row[place] = value;
      rows.set(line.step, row);
    }
  }
  const steps = [...rows.keys()].sort((a, b) => a - b);
  return {
    steps,
    columns: metrics.map((_, place) => steps.map((step) => rows.get(step)?.[place] ?? null)),
  };
}
