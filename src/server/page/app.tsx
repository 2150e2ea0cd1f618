import { useEffect } from "preact/hooks";
import { useEndings } from "./live/use_endings.ts";
import { useRuns } from "./live/use_runs.ts";
import { useRoute } from "./live/route.ts";
import { Guarded } from "./parts/guarded.tsx";
import { Header } from "./parts/header.tsx";
import { Link } from "./parts/link.tsx";
import { ConnectionNotice } from "./parts/connection_notice.tsx";
import { ApiView } from "./api/api_view.tsx";
import { Benchmarks } from "./bench/benchmarks.tsx";
import { Chat } from "./chat/chat.tsx";
import { Data } from "./data/data.tsx";
import { Models } from "./models/models.tsx";
import { RunList } from "./run/run_list.tsx";
import { describeSteps } from "./run/states.ts";
import { RunScreen } from "./run/run_view.tsx";
import { StartRun } from "./start/start_run.tsx";
import { EMPTY_FORM } from "./url_state.ts";
import { Verify } from "./verify/verify.tsx";

/** The whole page: the list of runs, and one thing beside it. */
export function App() {
  const route = useRoute();
  const { runs, problem, error } = useRuns();
  const shown = route.runs[0] ?? runs?.find(({ comparison }) => comparison === null)?.id ?? null;
  const run = runs?.find(({ id }) => id === shown) ?? null;
  const ended = useEndings(runs);
  useEffect(() => {
    const subject = route.screen === "run" ? run?.id : route.screen;
    const progress = run && route.screen === "run" && run.state === "running"
      ? `${describeSteps(run)} · `
      : "";
    document.title = ended === null
      ? `${progress}${subject ?? "runs"} · tango`
      : `${ended.id} ${ended.state} · tango`;
  });
  return (
    <>
      <a class="skip" href="#main">Skip to the content</a>
      <Header screen={route.screen} />
      <ConnectionNotice error={error} problem={problem} />
      <div class="columns">
        <RunList runs={runs} shown={shown} />
        <main id="main" tabIndex={-1}>
          <Guarded key={route.screen === "run" ? `run ${shown}` : route.screen}>{screen()}</Guarded>
        </main>
      </div>
    </>
  );

  function screen() {
    if (route.screen === "start") return <StartRun />;
    if (route.screen === "api") return <ApiView />;
    if (route.screen === "models") return <Models />;
    if (route.screen === "chat") return <Chat />;
    if (route.screen === "data") return <Data />;
    if (route.screen === "bench") return <Benchmarks />;
    if (route.screen === "verify") return <Verify runs={runs ?? []} />;
    if (runs === null) {
      return error === null ? <p class="quiet">Asking for the runs …</p> : null;
    }
    if (run !== null) return <RunScreen run={run} runs={runs} key={run.id} />;
    if (shown === null) return <NoRuns />;
    return <NoSuchRun name={shown} />;
  }
}

function NoSuchRun({ name }: { name: string }) {
  return (
    <section>
      <h1>{name}</h1>
      <p class="notice">There is no run of this name. It may have been deleted.</p>
    </section>
  );
}

function NoRuns() {
  return (
    <section class="empty">
      <h1>No runs yet</h1>
      <p>Start one here, or in a terminal with ./tango train: it will show up by itself.</p>
      <p>
        <Link class="button primary" to={{ ...EMPTY_FORM, screen: "start" }}>Start a run</Link>
      </p>
    </section>
  );
}
