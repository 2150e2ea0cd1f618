import { formatSize } from "../format.ts";
import { isLive } from "./states.ts";
import type { RunView } from "../../runs/run_view.ts";

/** What there is to say of a run that has nothing to show yet. */
export function NotBegun({ run, runs }: { run: RunView; runs: readonly RunView[] }) {
  const { state, memory } = run;
  if (state === "starting") {
    return <p class="notice" role="status">It loads its models; then its steps begin.</p>;
  }
  if (state !== "waiting") {
    return <p class="notice">It never began, so there is nothing to show or to resume.</p>;
  }
  const going = runs.filter((other) => isLive(other.state));
  const before = runs.filter((other) =>
    other.state === "waiting" && (other.startedAt ?? "") < (run.startedAt ?? "")
  );
  if (memory === null && going.length === 0 && before.length === 0) {
    return <p class="notice" role="status">Its memory is being planned.</p>;
  }
  const needs = memory === null ? "its memory" : `${formatSize(memory.planned)} of GPU memory`;
  return (
    <div class="notice" role="status">
      <p>
        It waits until {needs} fits beside the runs that go on, and for those asked for before it.
      </p>
      <Names label="Going on" runs={going} />
      <Names label="Before it in the queue" runs={before} />
    </div>
  );
}

function Names({ label, runs }: { label: string; runs: readonly RunView[] }) {
  if (runs.length === 0) return null;
  const names = runs.map(({ id, memory }) =>
    memory === null ? id : `${id} (${formatSize(memory.planned)})`
  );
  return <p>{label}: {names.join(", ")}.</p>;
}
