import { formatShare, shortDuration } from "../format.ts";
import { Head } from "../parts/head.tsx";
import { Link } from "../parts/link.tsx";
import { StateBadge } from "../parts/state_badge.tsx";
import { describeSteps } from "../run/states.ts";
import type { ComparisonSoFar } from "../../routes/comparison.ts";
import type { Measured } from "../../../run/compare/comparison_results.ts";
import type { RunView } from "../../runs/run_view.ts";

/** The runs of a comparison, and its tables. */
export function ComparedRuns(
  { comparison, runs }: { comparison: ComparisonSoFar; runs: readonly RunView[] },
) {
  return (
    <>
      {comparison.table.length === 0
        ? <p class="quiet">No run is finished yet: the first one makes the table.</p>
        : <Results table={comparison.table} />}
      {comparison.efficiency !== null && <Efficiency found={comparison.efficiency} />}
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

function Efficiency({ found }: { found: NonNullable<ComparisonSoFar["efficiency"]> }) {
  const { baseline, jobs, arms } = found;
  return (
    <table class="results">
      <caption>
        To the final accuracy of{" "}
        {baseline}: how many pairs of runs of a seed reach it, and the share that they take of the
        generator steps, tokens and seconds of its whole training. Less than 100 % is sooner. Means
        over the pairs that reach it, so that an arm of which fewer do looks faster than it is.
        {jobs > 1 && ` Up to ${jobs} runs went on at once, each slower for the others.`}
      </caption>
      <Head titles={["", "Pairs", "Steps", "Tokens", "Seconds"]} />
      <tbody>
        {arms.map(({ name, pairs, reached, steps, tokens, seconds }) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            <td>{reached} of {pairs}</td>
            <td>{spoken(steps)}</td>
            <td>{spoken(tokens)}</td>
            <td>{spoken(seconds)}</td>
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
