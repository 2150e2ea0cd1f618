import { useState } from "preact/hooks";
import { send } from "../live/api.ts";
import { useLoaded } from "../live/use_loaded.ts";
import { usePolling } from "../live/use_polling.ts";
import { useSending } from "../live/use_sending.ts";
import { EMPTY_FORM } from "../url_state.ts";
import { Failure } from "./failure.tsx";
import { Link } from "./link.tsx";
import { PullProgress } from "./pull_progress.tsx";
import type { Remedy } from "../../http/problem.ts";
import type { PullView } from "../../models/model_schemas.ts";

/** A button or a link to come by what is not there. */
export function RemedyOf({ remedy }: { remedy: Remedy }) {
  if ("pull" in remedy) return <PullButton {...remedy.pull} />;
  const { preset } = remedy;
  return (
    <p class="remedy">
      <Link to={{ ...EMPTY_FORM, screen: "start", kind: "sft", preset }}>
        Fine-tune such a model first, by {preset}
      </Link>
      , and train from what it leaves.
    </p>
  );
}

/** Fetches something from the Hub, and says how far that is. */
function PullButton({ kind, id, files }: Extract<Remedy, { pull: unknown }>["pull"]) {
  const [version, setVersion] = useState(0);
  const look = () => setVersion((number) => number + 1);
  const what = kind === "model" ? "models" : "datasets";
  const { answer } = useLoaded<{ pulls: PullView[] }>(`/api/${what}`, version);
  const { error, isBusy, sending } = useSending();
  const now = answer?.pulls.find((pull) => pull.id === id);
  usePolling(now?.state === "running", look);
  const begin = sending(async () => {
    const body = { id, files: files.length === 0 ? undefined : files };
    await send("POST", `/api/${what}/pull`, { body });
    look();
  });
  return (
    <div class="remedy">
      {now?.state !== "running" && now?.state !== "done" && (
        <button type="button" onClick={begin} disabled={isBusy}>
          Fetch {id} from the Hub
        </button>
      )}
      <Failure error={error} />
      {now !== undefined && (
        <PullProgress pull={now}>
          {kind === "model" ? "now: start again." : "now: start again, or choose it as Data."}
        </PullProgress>
      )}
    </div>
  );
}
