import { useEffect, useState } from "preact/hooks";
import { formatBytes } from "../../base/format_bytes.ts";
import { formatDuration } from "../../base/duration.ts";
import { Curves } from "./curves.tsx";
import { useKeptFocus } from "./focus.ts";
import { type RunState, secondsLeft } from "./run_state.ts";
import { Samples } from "./samples.tsx";
import { Top } from "./top.tsx";
import { useTraining } from "./use_training.ts";
import { webGpuMissing } from "./webgpu_missing.ts";
import type { AskedOfTraining, KeptRun } from "../worker/messages.ts";

const PRESET = "chains";

/** Changed settings, of the address: `?set=seed=1&set=schedule.total_training_steps=40`. */
const SETTINGS = new URLSearchParams(location.search).getAll("set");

/** The whole page. */
export function App() {
  const { state, ask } = useTraining();
  const [missing, setMissing] = useState<string | null | undefined>(undefined);
  useEffect(() => void webGpuMissing().then(setMissing), []);
  useEffect(() => {
    document.title = state.phase === "training" || state.phase === "paused"
      ? `${state.step} of ${state.total} · tango`
      : "tango in a tab";
  }, [state.phase, state.step]);
  return (
    <>
      <Top at="index.html" device={describeDevice(state)} />
      <main id="main">
        <h1>Two models that train each other, in this tab</h1>
        <p>
          One learns to find out who has how many pens, a step a sentence; the other learns to judge
          each of these steps, without being told which are right. Everything runs on this device's
          GPU, and nothing is sent anywhere.
        </p>
        {SETTINGS.length > 0 && (
          <p>
            A new run has <code>{SETTINGS.join(", ")}</code>.
          </p>
        )}
        {missing === undefined
          ? <p class="quiet">Looking for a GPU …</p>
          : missing !== null
          ? <p class="notice" role="alert">{missing}</p>
          : <Run state={state} ask={ask} />}
      </main>
    </>
  );
}

function Run({ state, ask }: { state: RunState; ask: (asked: AskedOfTraining) => void }) {
  const { phase, doing, failure, warnings, lines, total, samples } = state;
  return (
    <>
      <Actions state={state} ask={ask} />
      {phase === "starting" && <p role="status">{doing}</p>}
      {failure !== null && <p class="notice" role="alert">{failure}</p>}
      {warnings.map((warning) => <p class="notice" key={warning}>{warning}</p>)}
      {/* Said aloud when it changes, and not at each step. */}
      <p class="unseen" role="status">{phase === "starting" ? "" : phase}</p>
      {total > 0 && <Progress state={state} />}
      <Headlines state={state} />
      {lines.length > 0 && <Curves lines={lines} total={total} />}
      <Samples samples={samples} />
    </>
  );
}

function Actions({ state, ask }: { state: RunState; ask: (asked: AskedOfTraining) => void }) {
  const { phase, kept } = state;
  const keptFocus = useKeptFocus(`${phase} ${kept?.step}`);
  const isOpen = phase === "training" || phase === "paused";
  const isBusy = isOpen || phase === "starting" || phase === "looking";
  const mayGoOn = (phase === "idle" || phase === "failed") && kept !== null &&
    kept.step < kept.total;
  const button = (words: string, asked: AskedOfTraining, primary = false) => (
    <button
      type="button"
      class={primary ? "primary" : undefined}
      onClick={() => ask(asked)}
    >
      {words}
    </button>
  );
  const start = { type: "start", preset: PRESET, settings: SETTINGS } as const;
  return (
    <div class="actions" aria-label="What can be done" {...keptFocus}>
      {phase === "training" && button("Pause", { type: "pause" })}
      {phase === "paused" && button("Go on", { type: "continue" }, true)}
      {isOpen && button("Stop and keep", { type: "stop" })}
      {phase === "idle" && kept === null && button("Train", start, true)}
      {phase === "ended" && !state.reachedEnd && button("Go on", { type: "resume" }, true)}
      {mayGoOn && button(phase === "idle" ? "Go on with it" : `Go on from step ${kept.step}`, {
        type: "resume",
      }, true)}
      {phase === "idle" && kept !== null && (
        <>
          {button("Download it", { type: "download" })}
          {button("Forget it", { type: "forget" })}
        </>
      )}
      {(kept !== null || phase === "ended" || phase === "failed") && !isBusy &&
        button("Train anew", start)}
      {(isOpen || phase === "ended" || phase === "failed" && state.total > 0) &&
        button("Download the run", { type: "download" })}
      {phase === "idle" && kept !== null && <span class="quiet">{describeKept(kept)}</span>}
    </div>
  );
}

function Progress({ state }: { state: RunState }) {
  const { step, total, phase, asked } = state;
  const left = secondsLeft(state);
  const words = phase === "ended"
    ? state.reachedEnd ? "done" : "stopped"
    : phase === "paused"
    ? "paused"
    : asked !== ""
    ? `to ${asked} after this step …`
    : left === null
    ? "measuring …"
    : `${formatDuration(left)} left`;
  return (
    <div>
      <p>
        Step {step} of {total}, {words}
      </p>
      <progress value={step} max={total} aria-label="Steps done" />
    </div>
  );
}

function Headlines({ state: { headlines } }: { state: RunState }) {
  if (headlines.length === 0) return null;
  return (
    <ul class="headlines">
      {headlines.map(({ label, change }) => (
        <li key={label}>
          <strong>{change}</strong>
          <span class="quiet">{label}</span>
        </li>
      ))}
    </ul>
  );
}

const describeKept = ({ step, total, bytes, saved }: KeptRun) =>
  `A run is kept in this browser: step ${step} of ${total}, ${formatBytes(bytes)}, of ${
    new Date(saved).toLocaleString()
  }.`;

function describeDevice({ device }: RunState): string {
  if (device === null) return "";
  return `${device.name}${device.software ? ", on the processor: slow" : ""}`;
}
