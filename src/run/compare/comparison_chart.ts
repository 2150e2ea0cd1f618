import {
  type LineSeries,
  type Point,
  renderLineCharts,
  SERIES_COLORS,
} from "../report/line_charts.ts";
import type { ArmRows } from "./arm_rows.ts";
import { type Spread, spreadOf } from "./comparison_results.ts";
import { byGeneratorSteps, bySeconds, type RunRow, verifierBySteps } from "./run_row.ts";

/** Two lines of accuracy, by generator steps and by minutes, and two of the verifier's judgments. */
export function drawComparison(arms: readonly ArmRows[]): string {
  const hasBands = arms.length <= 4;
  const lines = (courseOf: (row: RunRow) => Point[]) =>
    arms.map(({ arm, rows }, index): LineSeries => {
      const curve = spreadCurve(rows.map(courseOf).filter(({ length }) => length > 0));
      return {
        name: arm.name,
        color: SERIES_COLORS[index % SERIES_COLORS.length],
        dashed: index >= SERIES_COLORS.length,
        points: curve.map(({ x, spread }): Point => [x, spread.mean]),
        ...(hasBands && { band: curve.map(({ spread }) => edges(spread)) }),
      };
    });
  const seeds = Math.max(...arms.map(({ rows }) => rows.length));
  const subtitle = `mean over ${seeds} ${seeds === 1 ? "seed" : "seeds"}` +
    (seeds > 1 && hasBands ? ", band: ± one standard deviation" : "");
  const common = { subtitle, isShare: true };
  const guessing = { value: 0.5, label: "a verifier that guesses" };
  const minutes = (row: RunRow) => bySeconds(row).map(([x, y]): Point => [x / 60, y]);
  const judging = [
    { title: "Balanced accuracy of verdicts", measure: "verdicts" },
    { title: "Balanced accuracy of step judgments", measure: "steps" },
  ] as const;
  return renderLineCharts([
    {
      ...common,
      title: "Generator accuracy",
      xName: "generator steps",
      series: lines(byGeneratorSteps),
    },
    {
      ...common,
      title: "Generator accuracy",
      xName: "minutes of training",
      series: lines(minutes),
    },
    ...judging.map(({ title, measure }) => ({
      ...common,
      title,
      xName: "training steps of either policy",
      series: lines((row) => verifierBySteps(row, measure)),
      reference: guessing,
    })).filter(({ series }) => series.some(({ points }) => points.length > 0)),
  ]);
}

/** Mean and spread over runs at each evaluation that all of them have; x is their mean too. */
export function spreadCurve(curves: readonly Point[][]): { x: number; spread: Spread }[] {
  const length = curves.length === 0 ? 0 : Math.min(...curves.map(({ length }) => length));
  return Array.from({ length }, (_, i) => ({
    x: spreadOf(curves.map((curve) => curve[i][0])).mean,
    spread: spreadOf(curves.map((curve) => curve[i][1])),
  }));
}

const edges = ({ mean, deviation }: Spread) =>
  [Math.max(0, mean - deviation), Math.min(1, mean + deviation)] as const;
