import { formatNumber, formatTime } from "../format.ts";
import { DeleteButton } from "../parts/delete_button.tsx";
import { Head } from "../parts/head.tsx";
import type { Job } from "../../models/jobs.ts";

/** What an evaluation prints, as far as it is shown. */
interface Measured {
  readonly on: string;
  readonly problems: number;
  readonly k: number;
  readonly metrics: Readonly<Record<string, number | null>>;
}

const WORDS = {
  evaluations: { running: "Measuring", failed: "It could not be measured." },
  exports: { running: "Writing", failed: "It could not be written." },
};

/** How far an evaluation or an export is, what it has found or why it failed. */
export function JobResult(
  { what, job, onRemoved }: { what: keyof typeof WORDS; job: Job; onRemoved: () => void },
) {
  const { name, state, startedAt, error, output, request } = job;
  return (
    <section class="panel" aria-label={name}>
      <div role="status">
        {state === "running" && <p>{WORDS[what].running}, since {formatTime(startedAt)} …</p>}
        {state === "done" && what === "exports" && <p>Written to {String(request.path)}.</p>}
        {state === "done" && what === "evaluations" && <Metrics {...JSON.parse(output)} />}
      </div>
      {state === "failed" && (
        <p class="notice bad message" role="alert">{WORDS[what].failed} {error}</p>
      )}
      <DeleteButton
        path={`/api/${what}/${name}`}
        what={name}
        label={state === "running" ? "End" : "Forget"}
        question={state === "running"
          ? `End ${name}? Nothing of it is kept.`
          : `Forget ${name}? What it has written elsewhere stays.`}
        onRemoved={onRemoved}
      />
    </section>
  );
}

function Metrics({ on, problems, k, metrics }: Measured) {
  return (
    <table>
      <caption>
        {`${problems} problems of ${on}, ${k} ${k === 1 ? "response" : "responses"} each`}
      </caption>
      <Head titles={["Metric", "Value"]} />
      <tbody>
        {Object.entries(metrics).map(([name, value]) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            <td>{formatNumber(value)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
