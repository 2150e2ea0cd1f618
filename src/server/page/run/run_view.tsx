import { Curves } from "../charts/curves_view.tsx";
import { ComparisonTabs } from "../comparison/comparison_tabs.tsx";
import { Difference } from "../difference/difference.tsx";
import { useEvents } from "../live/use_events.ts";
import { useRoute } from "../live/route.ts";
import { Tabs } from "../parts/tabs.tsx";
import { SampleBrowser } from "../samples/sample_browser.tsx";
import { Checkpoints } from "./checkpoints.tsx";
import { ConfusionView } from "./confusion.tsx";
import { EventLog } from "./event_log.tsx";
import { Memory } from "./memory.tsx";
import { NotBegun } from "./not_begun.tsx";
import { RunHeader } from "./run_header.tsx";
import { Settings } from "./settings.tsx";
import { hasBegun } from "./states.ts";
import { Timeline } from "./timeline.tsx";
import type { RunView } from "../../runs/run_view.ts";

/** One run, and what it is compared with. */
export function RunScreen({ run, runs }: { run: RunView; runs: RunView[] }) {
  return (
    <article class="run" aria-labelledby="run-name">
      <RunHeader run={run} />
      {!hasBegun(run)
        ? <NotBegun run={run} runs={runs} />
        : run.kind === "compare"
        ? <ComparisonTabs run={run} runs={runs} />
        : <RunTabs run={run} runs={runs} />}
    </article>
  );
}

function RunTabs({ run, runs }: { run: RunView; runs: RunView[] }) {
  const { runs: chosen, view } = useRoute();
  const { events, last } = useEvents(run.id);
  const compared = chosen.slice(1).filter((id) => runs.some((other) => other.id === id));
  const ids = [run.id, ...compared];
  const stepOf = (id: string) => runs.find((one) => one.id === id)?.step ?? 0;
  // What was loaded is out of date when the run, or one that it is compared with, went on.
  const version = `${last} ${ids.map(stepOf)}`;
  return (
    <Tabs
      label="What to show of the run"
      view={view}
      views={{
        curves: () => <Curves ids={ids} version={version} />,
        samples: () => <SampleBrowser ids={ids.slice(0, 2)} stepOf={stepOf} />,
        verifier: () => <ConfusionView run={run} version={version} />,
        difference: () => (
          <Difference
            run={run}
            other={runs.find(({ id }) => id === compared[0]) ?? null}
          />
        ),
        timeline: () => <Timeline run={run} version={version} />,
        memory: () => <Memory run={run} />,
        settings: () => <Settings run={run} version={version} />,
        checkpoints: () => <Checkpoints run={run} version={version} />,
        events: () => <EventLog events={events} />,
      }}
    />
  );
}
