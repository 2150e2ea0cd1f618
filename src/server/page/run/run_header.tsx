import { formatTime, shortDuration } from "../format.ts";
import { TellMe } from "./tell_me.tsx";
import { StateBadge } from "../parts/state_badge.tsx";
import { AfterFailure, AgainLink } from "./after_failure.tsx";
import { Controls } from "./controls.tsx";
import { Notes } from "./notes.tsx";
import { describeSteps, hasBegun, isLive, progressOf } from "./states.ts";
import type { RunView } from "../../runs/run_view.ts";

/** A run's name, state, progress and what can be done with it. */
export function RunHeader({ run }: { run: RunView }) {
  const { id, state, phase, secondsLeft } = run;
  return (
    <header class="run-header">
      <h1 id="run-name">{id}</h1>
      <p class="where" role="status">
        <StateBadge state={state} />
        <span>{describeSteps(run)}</span>
        {phase !== null && <span>{phase.replaceAll("_", " ")}</span>}
        {secondsLeft !== null && <span>{shortDuration(secondsLeft)} left</span>}
      </p>
      <p class="about">{facts(run).map((fact) => <span key={fact}>{fact}</span>)}</p>
      <progress max={1} value={progressOf(run)} aria-label="Steps done" />
      <Controls run={run} />
      <AfterFailure run={run} />
      <div class="more">
        {hasBegun(run) && <Notes run={run} />}
        {state !== "waiting" && <AgainLink id={id} />}
        {isLive(state) && <TellMe />}
      </div>
    </header>
  );
}

/** What does not change from step to step. */
function facts({ kind, ranks, state, startedAt, endedAt }: RunView) {
  const asked = state === "waiting" ? "asked for" : "began";
  return [
    kind,
    ...(ranks > 1 ? [`${ranks} ranks`] : []),
    ...(startedAt === null ? [] : [`${asked} ${formatTime(startedAt)}`]),
    ...(endedAt === null ? [] : [`ended ${formatTime(endedAt)}`]),
  ];
}
