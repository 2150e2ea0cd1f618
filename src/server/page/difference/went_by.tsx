import { Head } from "../parts/head.tsx";
import { causesOf } from "./causes.ts";
import type { RunDifferenceView } from "../../differences/difference_schema.ts";

/** What two runs went by that differs, a column for each run. */
export function WentBy(
  { found, ids }: { found: RunDifferenceView; ids: readonly [string, string] },
) {
  const causes = causesOf(found);
  return (
    <section aria-labelledby="went-by">
      <h2 id="went-by">What they went by</h2>
      {causes.length === 0
        ? (
          <p>
            Nothing differs: settings, files, program, device, driver, engine, kernels and ranks are
            the same.
          </p>
        )
        : (
          <table>
            <caption>All that was not the same in both.</caption>
            <Head titles={["", ...ids]} />
            <tbody>
              {causes.map(({ what, note, a, b }) => (
                <tr key={`${what} ${note}`}>
                  <th scope="row">
                    {what}
                    {note !== "" && <span class="quiet">, {note}</span>}
                  </th>
                  <td>{a}</td>
                  <td>{b}</td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
    </section>
  );
}
