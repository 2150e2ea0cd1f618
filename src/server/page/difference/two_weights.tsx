import { Head } from "../parts/head.tsx";
import type { RunDifferenceView } from "../../differences/difference_schema.ts";

/** The first weight that differs in what two runs have saved. */
export function TwoWeights(
  { weights, ids }: { weights: RunDifferenceView["weights"]; ids: readonly [string, string] },
) {
  return (
    <section aria-labelledby="first-weight">
      <h2 id="first-weight">The first weight that differs</h2>
      {weights === null
        ? (
          <p>
            None: no checkpoint is left of a step that both have saved, or all those are the same.
          </p>
        )
        : (
          <table>
            <caption>
              {weights.model}, checkpoint of step {weights.step}: {weights.count} of the{" "}
              {weights.size} elements of {weights.tensor} differ.
            </caption>
            <Head titles={["", ...ids]} />
            <tbody>
              <tr>
                <th scope="row">{weights.tensor}, element {weights.element}</th>
                <td>{weights.a}</td>
                <td>{weights.b}</td>
              </tr>
            </tbody>
          </table>
        )}
    </section>
  );
}
