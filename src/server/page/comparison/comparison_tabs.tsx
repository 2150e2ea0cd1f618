import { runPath } from "../live/api.ts";
import { useRoute } from "../live/route.ts";
import { useEvents } from "../live/use_events.ts";
import { useLoaded } from "../live/use_loaded.ts";
import { Failure } from "../parts/failure.tsx";
import { Tabs } from "../parts/tabs.tsx";
import { EventLog } from "../run/event_log.tsx";
import { Memory } from "../run/memory.tsx";
import { Settings } from "../run/settings.tsx";
import { hasBegun } from "../run/states.ts";
import { ComparedRuns } from "./compared_runs.tsx";
import { ComparisonCurves } from "./comparison_curves.tsx";
import type { ComparisonSoFar } from "../../routes/comparison.ts";
import type { RunView } from "../../runs/run_view.ts";

/** What a comparison has to show. */
export function ComparisonTabs({ run, runs }: { run: RunView; runs: RunView[] }) {
  const { view } = useRoute();
  const { events, last } = useEvents(run.id);
  const own = runs.filter(({ comparison }) => comparison === run.id);
  const begun = own.filter(hasBegun).map(({ id }) => id);
  const version = `${last} ${own.map(({ step, state }) => `${step}${state}`)}`;
  const { answer, error } = useLoaded<ComparisonSoFar>(runPath(run.id, "comparison"), version);
  return (
    <>
      <Failure error={error} />
      <Tabs
        label="What to show of the comparison"
        view={view}
        views={{
          curves: () =>
            answer && <ComparisonCurves comparison={answer} begun={begun} version={version} />,
          runs: () => answer && <ComparedRuns comparison={answer} runs={own} />,
          memory: () => <Memory run={run} />,
          settings: () => <Settings run={run} version={version} />,
          events: () => <EventLog events={events} />,
        }}
      />
    </>
  );
}
