import { Fragment, h, useEffect } from "./vendor.js";
import { useRuns } from "./live/use_runs.js";
import { useRoute } from "./live/route.js";
import { Guarded } from "./parts/guarded.js";
import { Header } from "./parts/header.js";
import { ConnectionNotice } from "./parts/connection_notice.js";
import { ApiView } from "./api/api_view.js";
import { Benchmarks } from "./bench/benchmarks.js";
import { Models } from "./models/models.js";
import { RunList } from "./run/run_list.js";
import { describeSteps } from "./run/states.js";
import { RunView } from "./run/run_view.js";
import { StartRun } from "./start/start_run.js";
import { Verify } from "./verify/verify.js";

/** The whole page: the list of runs, and one thing beside it. */
export function App() {
  const route = useRoute();
  const { runs, problem, error } = useRuns();
  const shown = route.runs[0] ?? runs?.find(({ comparison }) => comparison === null)?.id ?? null;
  const run = runs?.find(({ id }) => id === shown) ?? null;
  useEffect(() => {
    const subject = route.screen === "run" ? run?.id : route.screen;
    const progress = run && route.screen === "run" && run.state === "running"
      ? `${describeSteps(run)} · `
      : "";
    document.title = `${progress}${subject ?? "runs"} · tango`;
  });
  return h(
    Fragment,
    null,
    h("a", { class: "skip", href: "#main" }, "Skip to the content"),
    h(Header, { screen: route.screen }),
    h(ConnectionNotice, { error, problem }),
    h(
      "div",
      { class: "columns" },
      h(RunList, { runs, route, shown }),
      h(
        "main",
        { id: "main", tabIndex: -1 },
        h(Guarded, { key: route.screen === "run" ? `run ${shown}` : route.screen }, screen()),
      ),
    ),
  );

  function screen() {
    if (route.screen === "start") return h(StartRun, { route });
    if (route.screen === "api") return h(ApiView, null);
    if (route.screen === "models") return h(Models, null);
    if (route.screen === "bench") return h(Benchmarks, { route });
    if (route.screen === "verify") return h(Verify, { runs: runs ?? [], route });
    if (runs === null) {
      return error === null ? h("p", { class: "quiet" }, "Asking for the runs …") : null;
    }
    if (run !== null) return h(RunView, { run, runs, route, key: run.id });
    if (shown === null) return h(NoRuns, null);
    return h(NoSuchRun, { name: shown });
  }
}

/** @param {{ name: string }} props */
function NoSuchRun({ name }) {
  return h(
    "section",
    null,
    h("h1", null, name),
    h("p", { class: "notice" }, "There is no run of this name. It may have been deleted."),
  );
}

function NoRuns() {
  return h(
    "section",
    { class: "empty" },
    h("h1", null, "No runs yet"),
    h("p", null, "Start one here, or in a terminal with ./tango train: it will show up by itself."),
    h("p", null, h("a", { class: "button primary", href: "?screen=start" }, "Start a run")),
  );
}
