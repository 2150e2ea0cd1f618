import { formatShare, shortDuration } from "../format.ts";
import { Head } from "../parts/head.tsx";
import { Link } from "../parts/link.tsx";
import { StateBadge } from "../parts/state_badge.tsx";
import { describeSteps } from "../run/states.ts";
import type { ComparisonSoFar } from "../../routes/comparison.ts";
import type { Measured } from "../../../run/compare/comparison_results.ts";
import type { RunView } from "../../runs/run_view.ts";

/** The runs of a comparison, and its table. */
export function ComparedRuns(
  { comparison, runs }: { comparison: ComparisonSoFar; runs: readonly RunView[] },
) {
  return (
    <>
      {comparison.table.length === 0
        ? <p class="quiet">No run is finished yet: the first one makes the table.</p>
        : <Results table={comparison.table} />}
      <table>
        <caption>In the order in which they are done.</caption>
        <Head titles={["Method", "Seed", "State", "Steps"]} />
        <tbody>
          {comparison.runs.map(({ id, method, seed }) => {
            const run = runs.find((one) => one.id === id) ?? null;
            return (
              <tr key={id}>
                <th scope="row">
                  {run === null
                    ? method
                    : <Link to={{ screen: "run", runs: [id], page: 1 }}>{method}</Link>}
                </th>
                <td>{seed}</td>
                <td>{run === null ? "to come" : <StateBadge state={run.state} />}</td>
                <td>{run === null ? "–" : stepsOf(run)}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </>
  );
}

function stepsOf(run: RunView) {
  const { secondsLeft } = run;
  return describeSteps(run) + (secondsLeft === null ? "" : `, ${shortDuration(secondsLeft)} left`);
}

function Results({ table }: { table: ComparisonSoFar["table"] }) {
  return (
    <table class="results">
      <caption>
        Held-out measurements of finished runs, at equal generator steps: mean ± sample standard
        deviation over seeds.
      </caption>
      <Head titles={["", "Runs", "Generator's accuracy", "Verifier's balanced accuracy"]} />
      <tbody>
        {table.map(({ name, runs, generatorAccuracy, verifierBalancedAccuracy }) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            <td>{runs}</td>
            <td>{spoken(generatorAccuracy)}</td>
            <td>{spoken(verifierBalancedAccuracy)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function spoken(measured: Measured | null) {
  if (measured === null) return "–";
  const { mean, deviation, runs } = measured;
  if (runs === 1) return formatShare(mean);
  return `${(100 * mean).toFixed(1)} ± ${formatShare(deviation)}`;
}
