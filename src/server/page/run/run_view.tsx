import { useEvents } from "../live/use_events.ts";
import { go } from "../live/route.ts";
import { Guarded } from "../parts/guarded.tsx";
import { Tabs } from "../parts/tabs.tsx";
import { NotBegun } from "./not_begun.tsx";
import { RunHeader } from "./run_header.tsx";
import { hasBegun } from "./states.ts";
import { Curves } from "../charts/curves_view.tsx";
import { ComparisonTabs } from "../comparison/comparison_tabs.tsx";
import { SampleBrowser } from "../samples/sample_browser.tsx";
import { Confusion } from "./confusion.tsx";
import { Timeline } from "./timeline.tsx";
import { Memory } from "./memory.tsx";
import { Settings } from "./settings.tsx";
import { Checkpoints } from "./checkpoints.tsx";
import { EventLog } from "./event_log.tsx";
import type { RunView } from "../../runs/run_view.ts";
import type { PageState } from "../url_state.ts";

const VIEWS: readonly [string, string][] = [
  ["curves", "Curves"],
  ["samples", "Samples"],
  ["verifier", "Verifier"],
  ["timeline", "Timeline"],
  ["memory", "Memory"],
  ["settings", "Settings"],
  ["checkpoints", "Checkpoints"],
  ["events", "Events"],
];

/** One run, and what it is compared with. */
export function RunView({ run, runs, route }: { run: RunView; runs: RunView[]; route: PageState }) {
  return (
    <article class="run" aria-labelledby="run-name">
      <RunHeader run={run} />
      {!hasBegun(run)
        ? <NotBegun run={run} runs={runs} />
        : run.kind === "compare"
        ? <ComparisonTabs run={run} runs={runs} route={route} />
        : <RunTabs run={run} runs={runs} route={route} />}
    </article>
  );
}

function RunTabs({ run, runs, route }: { run: RunView; runs: RunView[]; route: PageState }) {
  const { events, last } = useEvents(run.id);
  const compared = route.runs.slice(1).filter((id) => runs.some((other) => other.id === id));
  const stepOf = (id: string) => runs.find((one) => one.id === id)?.step ?? 0;
  // What was loaded is out of date when the run, or one that it is compared with, went on.
  const version = `${last} ${[run.id, ...compared].map(stepOf)}`;
  // A comparison has a view that its runs have not.
  const chosen = VIEWS.find(([name]) => name === route.view)?.[0] ?? VIEWS[0][0];
  return (
    <>
      <Tabs
        label="What to show of the run"
        names={VIEWS}
        chosen={chosen}
        choose={(view) => go({ view, page: 1 })}
      />
      <div role="tabpanel" id="tab-panel" aria-labelledby={`tab-${chosen}`} tabIndex={0}>
        <Guarded key={chosen}>{view()}</Guarded>
      </div>
    </>
  );

  function view() {
    const ids = [run.id, ...compared];
    switch (chosen) {
      case "samples":
        return <SampleBrowser ids={ids.slice(0, 2)} route={route} stepOf={stepOf} />;
      case "verifier":
        return <Confusion run={run} route={route} version={version} />;
      case "timeline":
        return <Timeline run={run} route={route} version={version} />;
      case "memory":
        return <Memory run={run} />;
      case "settings":
        return <Settings run={run} version={version} />;
      case "checkpoints":
        return <Checkpoints run={run} version={version} />;
      case "events":
        return <EventLog events={events} />;
      default:
        return <Curves ids={ids} route={route} version={version} />;
    }
  }
}
