import { useState } from "preact/hooks";
import type { CurvePolicy } from "../charts/curves.ts";
import { Curves } from "../charts/curves_view.tsx";
import { armsOf } from "./arms.ts";
import type { ComparisonSoFar } from "../../routes/comparison.ts";

const POLICIES: readonly CurvePolicy[] = ["generator", "verifier"];

/** The curves of all runs of a comparison that have begun, of one policy at a time. */
export function ComparisonCurves(
  { comparison, begun, version }: {
    comparison: ComparisonSoFar;
    begun: readonly string[];
    version: string;
  },
) {
  const [policy, setPolicy] = useState(POLICIES[0]);
  const arms = armsOf(comparison.runs);
  const ids = comparison.runs.flatMap(({ id }) => begun.includes(id) ? [id] : []);
  if (ids.length === 0) return <p class="quiet">Its first run is loading its models.</p>;
  return (
    <>
      <fieldset class="tools policies">
        <legend class="unseen">Whose curves</legend>
        {POLICIES.map((name) => (
          <label key={name}>
            <input
              type="radio"
              name="policy"
              checked={name === policy}
              onChange={() => setPolicy(name)}
            />
            {name}
          </label>
        ))}
      </fieldset>
      <p class="quiet">
        By each run's own steps, among which Tango's verifier steps count; at the end all have done
        as many generator steps.
      </p>
      <Curves
        key={policy}
        ids={ids}
        version={version}
        arms={{ policy, of: (id) => arms.get(id) ?? { label: id, colour: 0, dash: 0 } }}
      />
    </>
  );
}
