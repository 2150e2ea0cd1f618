import { useState } from "preact/hooks";
import { formatSize } from "../format.ts";
import { send } from "../live/api.ts";
import { useSending } from "../live/use_sending.ts";
import { Failure } from "../parts/failure.tsx";
import { Head } from "../parts/head.tsx";
import type { Plan } from "../../routes/start.ts";

/** A button that asks for the memory plan of a run, and the plan. */
export function PlanButton({ label, request }: { label: string; request: () => unknown }) {
  const [plan, setPlan] = useState<Plan | null>(null);
  const { error, isBusy, sending } = useSending();
  const ask = sending(async () => {
    setPlan(await (await send("POST", "/api/plan", { body: request() })).json());
  });
  return (
    <div class="plan">
      <button type="button" onClick={ask} disabled={isBusy}>{isBusy ? "Planning …" : label}</button>
      <div aria-live="polite">
        <Failure error={error} />
        {plan !== null && error === null && <PlanTable plan={plan} />}
      </div>
    </div>
  );
}

function PlanTable({ plan: { peakBytes, limitBytes, resident, phases } }: { plan: Plan }) {
  const isTooMuch = limitBytes !== null && peakBytes > limitBytes;
  const row = ({ what, bytes }: { what: string; bytes: number }) => (
    <tr key={what}>
      <th scope="row">{what}</th>
      <td>{formatSize(bytes)}</td>
    </tr>
  );
  return (
    <table>
      <caption class={isTooMuch ? "bad" : ""}>
        At most {formatSize(peakBytes)}
        {limitBytes !== null && ` of ${formatSize(limitBytes)}`}.{isTooMuch && " It does not fit."}
      </caption>
      <Head titles={["Use", "Memory"]} />
      <tbody>
        {resident.map(row)}
        {phases.length > 0 && (
          <tr class="divider">
            <th scope="rowgroup" colSpan={2}>one after the other, the largest counts</th>
          </tr>
        )}
        {phases.map(row)}
      </tbody>
    </table>
  );
}
