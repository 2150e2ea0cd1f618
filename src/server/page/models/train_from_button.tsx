import { useEffect, useState } from "preact/hooks";
import { send } from "../live/api.ts";
import { go } from "../live/route.ts";
import { useSending } from "../live/use_sending.ts";
import { Failure } from "../parts/failure.tsx";
import { EMPTY_FORM, type PageState } from "../url_state.ts";
import type { Job } from "../../models/jobs.ts";

/** Has a checkpoint written as a model, unless that is done, and then opens the form of a run that begins with it. */
export function TrainFromButton(
  { checkpoint, policy, jobs, onExport }: {
    /** Its name. */
    checkpoint: string;
    policy: string | null;
    /** Exports of it, as they go on. */
    jobs: readonly Job[];
    onExport: () => void;
  },
) {
  const { error, isBusy, sending } = useSending();
  const [awaited, setAwaited] = useState<string | null>(null);
  const known = jobs.find(({ name }) => name === awaited);
  const open = (path: unknown) => go(formOf(String(path), policy));
  useEffect(() => {
    if (known === undefined || known.state === "running") return;
    setAwaited(null);
    // Why it failed is said with the export.
    if (known.state === "done") open(known.request.path);
  }, [known?.state]);
  const begin = sending(async () => {
    const body = { model: checkpoint, asTrained: true };
    const job: Job = await (await send("POST", "/api/exports", { body })).json();
    if (job.state === "done") return open(job.request.path);
    setAwaited(job.name);
    onExport();
  });
  return (
    <>
      <button type="button" onClick={begin} disabled={isBusy || awaited !== null}>
        {awaited === null ? "Train from" : "Writing it as a model …"}{" "}
        <span class="unseen">{checkpoint}</span>
      </button>
      <Failure error={error} />
    </>
  );
}

/** The form of a run that begins with a model, in the place of what it is. */
export function formOf(path: string, policy: string | null): Partial<PageState> {
  return policy === "verifier"
    ? { ...EMPTY_FORM, screen: "start", change: JSON.stringify({ "verifier.model": path }) }
    : { ...EMPTY_FORM, screen: "start", model: path };
}
