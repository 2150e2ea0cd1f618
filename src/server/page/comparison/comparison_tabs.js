import { Fragment, h } from "../vendor.js";
import { runPath } from "../live/api.js";
import { go } from "../live/route.js";
import { useEvents } from "../live/use_events.js";
import { useLoaded } from "../live/use_loaded.js";
import { Failure } from "../parts/failure.js";
import { Guarded } from "../parts/guarded.js";
import { Tabs } from "../parts/tabs.js";
import { EventLog } from "../run/event_log.js";
import { Memory } from "../run/memory.js";
import { Settings } from "../run/settings.js";
import { hasBegun } from "../run/states.js";
import { ComparedRuns } from "./compared_runs.js";
import { ComparisonCurves } from "./comparison_curves.js";

/**
 * @import { Comparison, Run } from "../contract.ts"
 * @import { PageState } from "../url_state.js"
 */

/** @type {readonly [string, string][]} */
const VIEWS = [
  ["curves", "Curves"],
  ["runs", "Runs"],
  ["memory", "Memory"],
  ["settings", "Settings"],
  ["events", "Events"],
];

/**
 * What a comparison has to show.
 *
 * @param {{ run: Run, runs: Run[], route: PageState }} props
 */
export function ComparisonTabs({ run, runs, route }) {
  const { events, last } = useEvents(run.id);
  const own = runs.filter(({ comparison }) => comparison === run.id);
  const begun = own.filter(hasBegun).map(({ id }) => id);
  const version = `${last} ${own.map(({ step, state }) => `${step}${state}`)}`;
  /** @type {{ answer: Comparison | null, error: Error | null }} */
  const { answer, error } = useLoaded(runPath(run.id, "comparison"), version);
  const chosen = VIEWS.find(([name]) => name === route.view)?.[0] ?? VIEWS[0][0];
  return h(
    Fragment,
    null,
    h(Tabs, {
      label: "What to show of the comparison",
      names: VIEWS,
      chosen,
      choose: (view) => go({ view, page: 1 }),
    }),
    h(
      "div",
      { role: "tabpanel", id: "tab-panel", "aria-labelledby": `tab-${chosen}`, tabIndex: 0 },
      h(Failure, { error }),
      h(Guarded, { key: chosen }, view()),
    ),
  );

  function view() {
    switch (chosen) {
      case "memory":
        return h(Memory, { run });
      case "settings":
        return h(Settings, { run, version });
      case "events":
        return h(EventLog, { events });
    }
    if (answer === null) return null;
    return chosen === "runs"
      ? h(ComparedRuns, { comparison: answer, runs: own })
      : h(ComparisonCurves, { comparison: answer, begun, route, version });
  }
}
