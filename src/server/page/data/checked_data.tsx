import { useLoaded } from "../live/use_loaded.ts";
import { Head } from "../parts/head.tsx";
import { Link } from "../parts/link.tsx";
import type { Columns } from "./reading.ts";
import type { DataCheck } from "../../routes/datasets.ts";
import type { Preset } from "../../launches/presets.ts";

const USES: [keyof DataCheck["uses"], string][] = [
  ["train", "problems to train on"],
  ["solutions", "solutions to imitate"],
  ["steps", "solutions in steps to imitate"],
];

/** What a run would find, and starting one on it. */
export function CheckedData(
  { result, columns }: {
    result: DataCheck;
    /** Which hold what, where it is not what the names suggest. */
    columns: Columns | null;
  },
) {
  const { rows, isWhole, errors, firstErrors, first, uses, data } = result;
  const dropped = USES.flatMap(([use, words]) =>
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
            {USES.map(([use, words]) => (
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
      {errors === 0 && <Beginnings uses={uses} path={data.train[0].path} columns={columns} />}
    </section>
  );
}

function Record({ question, answer, solution, steps }: DataCheck["first"][number]) {
  const parts = { Problem: question, Answer: answer, Solution: solution, Steps: steps?.join("\n") };
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

/** Links to the form of a new run, filled in. */
function Beginnings(
  { uses, path, columns }: {
    uses: DataCheck["uses"];
    path: string;
    columns: Columns | null;
  },
) {
  const { answer } = useLoaded<{ presets: Preset[] }>("/api/presets");
  const presetOf = (kind: Preset["kind"]) =>
    answer?.presets.find((preset) => preset.kind === kind)?.name ?? "";
  const to = (kind: Preset["kind"]) => ({
    ...{ screen: "start" as const, preset: presetOf(kind), model: "" },
    ...{ data: path, columns: columns === null ? "" : JSON.stringify(columns) },
  });
  const canImitate = uses.solutions.problem === null || uses.steps.problem === null;
  return (
    <>
      {!canImitate && <p class="notice">Not to be fine-tuned on. {uses.solutions.problem}</p>}
      {uses.train.problem !== null && (
        <p class="notice">Not to be trained on. {uses.train.problem}</p>
      )}
      {answer !== null && (
        <div class="buttons">
          {canImitate && <Link class="button" to={to("sft")}>Fine-tune on it</Link>}
          {uses.train.problem === null && <Link class="button" to={to("train")}>Train on it</Link>}
        </div>
      )}
    </>
  );
}
