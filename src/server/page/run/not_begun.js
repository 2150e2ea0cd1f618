import { h } from "../vendor.js";
import { formatSize } from "../format.js";
import { isLive } from "./states.js";

/**
 * @import { Run } from "../contract.ts"
 */

/**
 * What there is to say of a run that has nothing to show yet.
 *
 * @param {{ run: Run, runs: readonly Run[] }} props
 */
export function NotBegun({ run, runs }) {
  const { state, memory } = run;
  if (state === "starting") {
    return h(
      "p",
      { class: "notice", role: "status" },
      "It loads its models; then its steps begin.",
    );
  }
  if (state !== "waiting") {
    return h("p", { class: "notice" }, "It never began, so there is nothing to show or to resume.");
  }
  const going = runs.filter((other) => isLive(other.state));
  const before = runs.filter((other) =>
    other.state === "waiting" && (other.startedAt ?? "") < (run.startedAt ?? "")
  );
  if (memory === null && going.length === 0 && before.length === 0) {
    return h("p", { class: "notice", role: "status" }, "Its memory is being planned.");
  }
  const needs = memory === null ? "its memory" : `${formatSize(memory.planned)} of GPU memory`;
  return h(
    "div",
    { class: "notice", role: "status" },
    h(
      "p",
      null,
      `It waits until ${needs} fits beside the runs that go on, and for those asked for before it.`,
    ),
    h(Names, { label: "Going on", runs: going }),
    h(Names, { label: "Before it in the queue", runs: before }),
  );
}

/** @param {{ label: string, runs: readonly Run[] }} props */
function Names({ label, runs }) {
  if (runs.length === 0) return null;
  const names = runs.map(({ id, memory }) =>
    memory === null ? id : `${id} (${formatSize(memory.planned)})`
  );
  return h("p", null, `${label}: ${names.join(", ")}.`);
}
