import { h } from "../vendor.js";
import { formatDuration, formatTime } from "../format.js";
import { StateBadge } from "../parts/state_badge.js";
import { Controls } from "./controls.js";
import { describeState, describeSteps, progressOf } from "./states.js";

/**
 * @import { Run } from "../contract.ts"
 */

/**
 * A run's name, state, progress and what can be done with it.
 *
 * @param {{ run: Run }} props
 */
export function RunHeader({ run }) {
  const { id, state, phase, secondsLeft, error } = run;
  return h(
    "header",
    { class: "run-header" },
    h("h1", { id: "run-name" }, id),
    h(
      "p",
      { class: "where", role: "status" },
      h(StateBadge, { state }),
      h("span", null, describeSteps(run)),
      phase === null ? null : h("span", null, phase.replaceAll("_", " ")),
      secondsLeft === null ? null : h("span", null, `${formatDuration(secondsLeft)} left`),
    ),
    h("p", { class: "about" }, facts(run).map((fact) => h("span", { key: fact }, fact))),
    h("progress", {
      max: 1,
      value: progressOf(run),
      "aria-label": "Steps done",
    }),
    h(Controls, { run }),
    error === null ? null : h(
      "div",
      { class: "notice bad", role: "alert" },
      h("strong", null, `${describeState(state).label}: `),
      h("span", { class: "message" }, error),
    ),
  );
}

/**
 * What does not change from step to step.
 *
 * @param {Run} run
 */
function facts({ kind, ranks, state, startedAt, endedAt }) {
  const asked = state === "waiting" ? "asked for" : "began";
  return [
    kind,
    ...(ranks > 1 ? [`${ranks} ranks`] : []),
    ...(startedAt === null ? [] : [`${asked} ${formatTime(startedAt)}`]),
    ...(endedAt === null ? [] : [`ended ${formatTime(endedAt)}`]),
  ];
}
