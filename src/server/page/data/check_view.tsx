import { Head } from "../parts/head.tsx";
import { Link } from "../parts/link.tsx";
import { EMPTY_FORM } from "../url_state.ts";
import type { CheckedData } from "../../routes/datasets.ts";

const USES: [keyof CheckedData["uses"], string][] = [
  ["train", "problems to train on"],
  ["solutions", "solutions to imitate"],
  ["steps", "solutions in steps to imitate"],
  ["pairs", "pairs of a better and a worse response"],
];

/** What a run would find, and starting one on it. */
export function CheckView({ result }: { result: CheckedData }) {
  const { rows, isWhole, errors, firstErrors, first, uses } = result;
  // That a file without worse responses has no pairs is no news.
  const shown = USES.filter(([use]) => use !== "pairs" || uses.pairs.records > 0);
  const dropped = shown.flatMap(([use, words]) =>
    uses[use].dropped.map((one) => ({ ...one, words, key: `${use} ${one.reason}` }))
  );
  return (
    <section aria-labelledby="checked-title">
      <h3 id="checked-title">What a run would find</h3>
      <p role="status">
        {isWhole ? `All ${rows} rows were read.` : `The first ${rows} rows were read.`}{" "}
        {errors === 0 ? "None stops a run." : `${errors} of them would stop a run:`}
      </p>
      {errors > 0 && (
        <ul class="notice bad">{firstErrors.map((one) => <li key={one}>{one}</li>)}</ul>
      )}
      <div class="wide-table" tabIndex={0} role="region" aria-label="By use">
        <table>
          <Head titles={["As", "Usable", "Set aside to choose weights", "Set aside to measure"]} />
          <tbody>
            {shown.map(([use, words]) => (
              <tr key={use}>
                <th scope="row">{words}</th>
                <td>{uses[use].records}</td>
                <td>{uses[use].validation}</td>
                <td>{uses[use].test}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {dropped.length > 0 && (
        <details>
          <summary>Rows that are left out, and why</summary>
          <ul>
            {dropped.map(({ key, words, reason, count, first }) => (
              <li key={key}>{`as ${words}: ${count}, ${reason}, first ${first}`}</li>
            ))}
          </ul>
        </details>
      )}
      {first.length > 0 && (
        <details>
          <summary>The first of them, as a run reads it</summary>
          <Record {...first[0]} />
        </details>
      )}
      {errors === 0 && <Beginnings result={result} />}
    </section>
  );
}

function Record({ question, answer, solution, steps, rejected }: CheckedData["first"][number]) {
  const parts = {
    Problem: question,
    Answer: answer,
    [rejected === null ? "Solution" : "Better"]: solution,
    Worse: rejected,
    Steps: steps?.join("\n"),
  };
  return (
    <dl class="record">
      {Object.entries(parts).filter(([, text]) => text != null).map(([name, text]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd class="text">{text}</dd>
        </div>
      ))}
    </dl>
  );
}

/** How strongly, as published (Rafailov et al. 2023, arXiv:2305.18290). */
const PREFERENCES = { preferences: { beta: 0.1 } };

/** Links to the form of a new run, filled in. */
function Beginnings({ result: { uses, data } }: { result: CheckedData }) {
  const { train, solutions, steps, pairs } = uses;
  const to = (kind: "" | "sft", data: object, change = {}) => ({
    ...{ ...EMPTY_FORM, screen: "start" as const, kind, data: JSON.stringify(data) },
    change: Object.keys(change).length > 0 ? JSON.stringify(change) : "",
  });
  const canImitate = solutions.problem === null || steps.problem === null;
  // Where solutions are in steps alone, these are imitated.
  const imitated = solutions.problem === null ? data : { ...data, response: "steps" };
  return (
    <>
      {!canImitate && <p class="notice">Not to be fine-tuned on. {solutions.problem}</p>}
      {train.problem !== null && <p class="notice">Not to be trained on. {train.problem}</p>}
      <div class="buttons">
        {canImitate && <Link class="button" to={to("sft", imitated)}>Fine-tune on it</Link>}
        {pairs.problem === null && (
          <Link class="button" to={to("sft", data, PREFERENCES)}>
            Prefer the better of each pair
          </Link>
        )}
        {train.problem === null && <Link class="button" to={to("", data)}>Train on it</Link>}
      </div>
    </>
  );
}
