import { Fragment, h } from "../vendor.js";
import { useEvents } from "../live/use_events.js";
import { go } from "../live/route.js";
import { Guarded } from "../parts/guarded.js";
import { Tabs } from "../parts/tabs.js";
import { NotBegun } from "./not_begun.js";
import { RunHeader } from "./run_header.js";
import { hasBegun } from "./states.js";
import { Curves } from "../charts/curves_view.js";
import { ComparisonTabs } from "../comparison/comparison_tabs.js";
import { SampleBrowser } from "../samples/sample_browser.js";
import { Confusion } from "./confusion.js";
import { Timeline } from "./timeline.js";
import { Memory } from "./memory.js";
import { Settings } from "./settings.js";
import { Checkpoints } from "./checkpoints.js";
import { EventLog } from "./event_log.js";

/**
 * @import { Run } from "../contract.ts"
 * @import { PageState } from "../url_state.js"
 */

/** @type {readonly [string, string][]} */
const VIEWS = [
  ["curves", "Curves"],
  ["samples", "Samples"],
  ["verifier", "Verifier"],
  ["timeline", "Timeline"],
  ["memory", "Memory"],
  ["settings", "Settings"],
  ["checkpoints", "Checkpoints"],
  ["events", "Events"],
];

/**
 * One run, and what it is compared with.
 *
 * @param {{ run: Run, runs: Run[], route: PageState }} props
 */
export function RunView({ run, runs, route }) {
  return h(
    "article",
    { class: "run", "aria-labelledby": "run-name" },
    h(RunHeader, { run }),
    !hasBegun(run)
      ? h(NotBegun, { run, runs })
      : run.kind === "compare"
      ? h(ComparisonTabs, { run, runs, route })
      : h(RunTabs, { run, runs, route }),
  );
}

/** @param {{ run: Run, runs: Run[], route: PageState }} props */
function RunTabs({ run, runs, route }) {
  const { events, last } = useEvents(run.id);
  const compared = route.runs.slice(1).filter((id) => runs.some((other) => other.id === id));
  /** @param {string} id */
  const stepOf = (id) => runs.find((one) => one.id === id)?.step ?? 0;
  // What was loaded is out of date when the run, or one that it is compared with, went on.
  const version = `${last} ${[run.id, ...compared].map(stepOf)}`;
  // A comparison has a view that its runs have not.
  const chosen = VIEWS.find(([name]) => name === route.view)?.[0] ?? VIEWS[0][0];
  return h(
    Fragment,
    null,
    h(Tabs, {
      label: "What to show of the run",
      names: VIEWS,
      chosen,
      choose: (view) => go({ view, page: 1 }),
    }),
    h(
      "div",
      { role: "tabpanel", id: "tab-panel", "aria-labelledby": `tab-${chosen}`, tabIndex: 0 },
      h(Guarded, { key: chosen }, view()),
    ),
  );

  function view() {
    const ids = [run.id, ...compared];
    switch (chosen) {
      case "samples":
        return h(SampleBrowser, { ids: ids.slice(0, 2), route, stepOf });
      case "verifier":
        return h(Confusion, { run, route, version });
      case "timeline":
        return h(Timeline, { run, route, version });
      case "memory":
        return h(Memory, { run });
      case "settings":
        return h(Settings, { run, version });
      case "checkpoints":
        return h(Checkpoints, { run, version });
      case "events":
        return h(EventLog, { events });
      default:
        return h(Curves, { ids, route, version });
    }
  }
}
