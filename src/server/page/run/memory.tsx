import { formatSize } from "../format.ts";
import { runPath, send } from "../live/api.ts";
import { useLoaded } from "../live/use_loaded.ts";
import { PlanButton } from "../start/plan_button.tsx";
import type { Plan } from "../../routes/start.ts";
import type { RunView } from "../../runs/run_view.ts";
import type { ConfigurationInForce } from "../../runs/configuration_in_force.ts";

/** GPU memory as planned and as it is. */
export function Memory({ run }: { run: RunView }) {
  const { answer } = useLoaded<ConfigurationInForce>(runPath(run.id, "config"));
  const planned = run.memory?.planned ?? null;
  const live = run.memory?.live ?? null;
  const peak = run.memory?.peak ?? null;
  const most = Math.max(planned ?? 0, live ?? 0, 1);
  const bar = (label: string, bytes: number | null) => (
    <div class="amount-row">
      <span>{label}</span>
      <span class="amount-bar" aria-hidden="true">
        <span style={{ width: `${100 * (bytes ?? 0) / most}%` }} />
      </span>
      <strong>{formatSize(bytes)}</strong>
    </div>
  );
  return (
    <>
      <h2>GPU memory</h2>
      {run.memory === null
        ? <p class="quiet">This run has not told what it takes.</p>
        : (
          <div class="amounts">
            {bar("planned at most", planned)}
            {live !== null && bar("held now", live)}
            {peak !== null && bar("most in use", peak)}
            {live !== null && (
              <p class="quiet">
                What a step no longer uses is held for the next one, up to what is planned.
              </p>
            )}
          </div>
        )}
      {run.memory !== null && live === null && <p class="quiet">It holds none at present.</p>}
      {answer !== null && (
        <PlanButton
          label="What it is made of"
          load={async () => {
            const body = { kind: run.kind, configuration: answer.configuration };
            const plan: Plan = await (await send("POST", "/api/plan", { body })).json();
            return plan;
          }}
        />
      )}
    </>
  );
}
