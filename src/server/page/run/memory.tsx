import { formatSize } from "../format.ts";
import { runPath } from "../live/api.ts";
import { useLoaded } from "../live/use_loaded.ts";
import { PlanButton } from "../start/plan_button.tsx";
import type { ConfigurationInForce } from "../../runs/configuration_in_force.ts";
import type { RunView } from "../../runs/run_view.ts";

/** GPU memory as planned and as it is. */
export function Memory({ run: { id, kind, memory } }: { run: RunView }) {
  const { answer } = useLoaded<ConfigurationInForce>(runPath(id, "config"));
  const most = Math.max(memory?.planned ?? 0, memory?.live ?? 0, 1);
  const bar = (label: string, bytes: number | null) =>
    bytes !== null && (
      <div class="amount-row">
        <span>{label}</span>
        <span class="amount-bar" aria-hidden="true">
          <span style={{ width: `${100 * bytes / most}%` }} />
        </span>
        <strong>{formatSize(bytes)}</strong>
      </div>
    );
  return (
    <>
      <h2>GPU memory</h2>
      {memory === null
        ? <p class="quiet">This run has not told what it takes.</p>
        : (
          <div class="amounts">
            {bar("planned at most", memory.planned)}
            {bar("held now", memory.live)}
            {bar("most in use", memory.peak)}
            {memory.live !== null && (
              <p class="quiet">
                What a step no longer uses is held for the next one, up to what is planned.
              </p>
            )}
          </div>
        )}
      {memory?.live === null && <p class="quiet">It holds none at present.</p>}
      {answer !== null && (
        <PlanButton
          label="What it is made of"
          request={() => ({ kind, configuration: answer.configuration })}
        />
      )}
    </>
  );
}
