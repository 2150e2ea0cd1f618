import { useState } from "preact/hooks";
import { formatSize } from "../format.ts";
import { Failure } from "../parts/failure.tsx";
import type { Plan } from "../../routes/start.ts";

/** A button that asks for a memory plan, and the plan. */
export function PlanButton({ label, load }: { label: string; load: () => Promise<Plan> }) {
  const [plan, setPlan] = useState<Plan | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const [isBusy, setBusy] = useState(false);
  const ask = async () => {
    setBusy(true);
    setError(null);
    try {
      setPlan(await load());
    } catch (failure) {
      setPlan(null);
      setError(failure instanceof Error ? failure : new Error(String(failure)));
    }
    setBusy(false);
  };
  return (
    <div class="plan">
      <button type="button" onClick={ask} disabled={isBusy}>{isBusy ? "Planning …" : label}</button>
      <div aria-live="polite">
        <Failure error={error} />
        {plan !== null && <PlanTable plan={plan} />}
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
        {[
          `At most ${formatSize(peakBytes)}`,
          limitBytes === null ? "." : ` of ${formatSize(limitBytes)}.`,
          isTooMuch ? " It does not fit." : "",
        ].join("")}
      </caption>
      <thead>
        <tr>
          <th scope="col">Use</th>
          <th scope="col">Memory</th>
        </tr>
      </thead>
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
