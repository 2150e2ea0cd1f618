import { formatNumber, formatValue } from "../format.ts";
import { runPath, send } from "../live/api.ts";
import { useLoaded } from "../live/use_loaded.ts";
import { refreshRuns } from "../live/use_runs.ts";
import { useSending } from "../live/use_sending.ts";
import { Failure } from "../parts/failure.tsx";
import { Link } from "../parts/link.tsx";
import { EMPTY_FORM } from "../url_state.ts";
import { adviceOn } from "./what_to_do.ts";
import type { ConfigurationInForce } from "../../runs/configuration_in_force.ts";
import type { RunView } from "../../runs/run_view.ts";

/** What happened to a run that failed, what to do, and a button that does it where there is one. */
export function AfterFailure({ run }: { run: RunView }) {
  const { id, state, error } = run;
  const advice = adviceOn(run);
  if (error === null && advice === null) return null;
  return (
    <div class="notice bad">
      {error !== null && (
        <p role="alert">
          <strong>{state}:</strong> <span class="message">{error}</span>
        </p>
      )}
      {advice !== null && (
        <>
          <p>{advice.text}</p>
          {advice.lowered !== null && <LowerRate id={id} name={advice.lowered} />}
          {advice.change !== null && <AgainLink class="button" id={id} change={advice.change} />}
        </>
      )}
    </div>
  );
}

/** A link to the form of a new run with all that a run was started with, and some of it changed. */
export function AgainLink(
  { id, change = {}, class: look }: {
    id: string;
    change?: Readonly<Record<string, unknown>>;
    class?: string;
  },
) {
  const words = Object.entries(change).map(([key, value]) => `${key}=${formatValue(value)}`);
  return (
    <Link
      class={look}
      to={{
        ...EMPTY_FORM,
        screen: "start",
        again: id,
        change: words.length === 0 ? "" : JSON.stringify(change),
      }}
    >
      Again with {words.length === 0 ? "other settings" : words.join(", ")}
    </Link>
  );
}

/** Goes on with half of a learning rate. */
function LowerRate({ id, name }: { id: string; name: string }) {
  const { answer, error: unread } = useLoaded<ConfigurationInForce>(runPath(id, "config"));
  const { error, isBusy, sending } = useSending();
  const rate = answer?.changeable[name];
  const lower = typeof rate === "number" ? Number((rate / 2).toPrecision(3)) : null;
  const resume = sending(async () => {
    await send("POST", runPath(id, "resume"), { body: { settings: { [name]: lower } } });
    refreshRuns();
  });
  return (
    <>
      {lower !== null && (
        <button type="button" onClick={resume} disabled={isBusy}>
          Resume with {name} = {formatNumber(lower)} (was {formatNumber(Number(rate))})
        </button>
      )}
      <Failure error={error ?? unread} />
    </>
  );
}
