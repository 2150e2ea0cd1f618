import { runPath } from "../live/api.ts";
import { go } from "../live/route.ts";
import { useEvents } from "../live/use_events.ts";
import { useLoaded } from "../live/use_loaded.ts";
import { Failure } from "../parts/failure.tsx";
import { Guarded } from "../parts/guarded.tsx";
import { Tabs } from "../parts/tabs.tsx";
import { EventLog } from "../run/event_log.tsx";
import { Memory } from "../run/memory.tsx";
import { Settings } from "../run/settings.tsx";
import { hasBegun } from "../run/states.ts";
import { ComparedRuns } from "./compared_runs.tsx";
import { ComparisonCurves } from "./comparison_curves.tsx";
import type { ComparisonSoFar } from "../../routes/comparison.ts";
import type { RunView } from "../../runs/run_view.ts";
import type { PageState } from "../url_state.ts";

const VIEWS: readonly [string, string][] = [
  ["curves", "Curves"],
  ["runs", "Runs"],
  ["memory", "Memory"],
  ["settings", "Settings"],
  ["events", "Events"],
];

/** What a comparison has to show. */
export function ComparisonTabs(
  { run, runs, route }: { run: RunView; runs: RunView[]; route: PageState },
) {
  const { events, last } = useEvents(run.id);
  const own = runs.filter(({ comparison }) => comparison === run.id);
  const begun = own.filter(hasBegun).map(({ id }) => id);
  const version = `${last} ${own.map(({ step, state }) => `${step}${state}`)}`;
  const { answer, error } = useLoaded<ComparisonSoFar>(runPath(run.id, "comparison"), version);
  const chosen = VIEWS.find(([name]) => name === route.view)?.[0] ?? VIEWS[0][0];
  return (
    <>
      <Tabs
        label="What to show of the comparison"
        names={VIEWS}
        chosen={chosen}
        choose={(view) => go({ view, page: 1 })}
      />
      <div role="tabpanel" id="tab-panel" aria-labelledby={`tab-${chosen}`} tabIndex={0}>
        <Failure error={error} />
        <Guarded key={chosen}>{view()}</Guarded>
      </div>
    </>
  );

  function view() {
    switch (chosen) {
      case "memory":
        return <Memory run={run} />;
      case "settings":
        return <Settings run={run} version={version} />;
      case "events":
        return <EventLog events={events} />;
    }
    if (answer === null) return null;
    return chosen === "runs"
      ? <ComparedRuns comparison={answer} runs={own} />
      : <ComparisonCurves comparison={answer} begun={begun} route={route} version={version} />;
  }
}
