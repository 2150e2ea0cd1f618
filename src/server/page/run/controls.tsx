import { useEffect, useRef, useState } from "preact/hooks";
import { runPath, send } from "../live/api.ts";
import { refreshRuns } from "../live/use_runs.ts";
import { go } from "../live/route.ts";
import { useSending } from "../live/use_sending.ts";
import { Confirm } from "../parts/confirm.tsx";
import { type Action, actionsOf } from "./states.ts";
import type { RunView } from "../../runs/run_view.ts";

const ACTIONS: Readonly<
  Record<Action, { label: string; title: string; done: string; ask?: string }>
> = {
  leave: {
    label: "Take out of the queue",
    title: "It will not be started",
    done: "It is out of the queue.",
  },
  pause: {
    label: "Pause",
    title: "Waits after the present step",
    done: "It pauses after this step.",
  },
  "go-on": { label: "Go on", title: "Takes the next step", done: "It goes on." },
  checkpoint: {
    label: "Checkpoint",
    title: "Saves after the present step and goes on",
    done: "It saves after this step.",
  },
  stop: {
    label: "Stop and save",
    title: "Ends after the present step; everything is saved, resume goes on",
    done: "It stops after this step.",
  },
  kill: {
    label: "Kill",
    title: "Ends the process at once; steps since the last checkpoint are lost",
    done: "Killed.",
    ask:
      "End this run at once? Steps since its last checkpoint are lost. Stop and save loses nothing.",
  },
  resume: {
    label: "Resume",
    title: "Goes on from the newest checkpoint",
    done: "It starts again.",
  },
  delete: {
    label: "Delete",
    title: "Removes the run's folder",
    done: "Deleted.",
    ask: "Delete this run with its logs, samples and checkpoints? This cannot be undone.",
  },
};

/** The buttons that a run's state allows. */
export function Controls({ run }: { run: RunView }) {
  const [message, setMessage] = useState("");
  const [asked, setAsked] = useState<Action>("delete");
  const { error, setError, isBusy, sending } = useSending();
  const dialog = useRef<HTMLDialogElement>(null);

  // What was said of a request is over when the run has done it.
  useEffect(() => {
    setMessage("");
    setError(null);
  }, [run.state]);
  const act = (action: Action) =>
    sending(async () => {
      setMessage("");
      try {
        if (action === "delete") await send("DELETE", runPath(run.id));
        else await send("POST", runPath(run.id, action === "leave" ? "kill" : action));
        setMessage(ACTIONS[action].done);
        if (action === "delete") go({ runs: [] });
      } finally {
        refreshRuns();
      }
    })();
  const press = (action: Action) => {
    if (ACTIONS[action].ask === undefined) return act(action);
    setAsked(action);
    dialog.current?.showModal();
  };
  return (
    <div class="controls">
      {actionsOf(run).map((action) => (
        <button
          key={action}
          type="button"
          class={ACTIONS[action].ask === undefined ? "" : "danger"}
          title={ACTIONS[action].title}
          disabled={isBusy}
          onClick={() => press(action)}
        >
          {ACTIONS[action].label}
        </button>
      ))}
      <span role="status" class="message">{error?.message ?? message}</span>
      <Confirm
        dialog={dialog}
        question={ACTIONS[asked].ask ?? ""}
        yes={ACTIONS[asked].label}
        onYes={() => act(asked)}
      />
    </div>
  );
}
