import { h, useEffect, useState } from "../vendor.js";
import { formatTime } from "../format.js";
import { useLoaded } from "../live/use_loaded.js";
import { addressOf, follow } from "../live/route.js";
import { Failure } from "../parts/failure.js";
import { BenchmarkForm } from "./benchmark_form.js";
import { BenchmarkView } from "./benchmark_view.js";

/**
 * @import { Benchmark } from "../contract.ts"
 * @import { PageState } from "../url_state.js"
 */

const LOOK_MS = 1500;
const TONES = { running: "busy", done: "good", failed: "bad" };

/**
 * How fast the kernels are here: starting a benchmark, all of them, and one of them beside an earlier one.
 *
 * @param {{ route: PageState }} props
 */
export function Benchmarks({ route }) {
  const [version, setVersion] = useState(0);
  const changed = () => setVersion((number) => number + 1);
  /** @type {{ answer: { benchmarks: Benchmark[] } | null, error: Error | null }} */
  const { answer, error } = useLoaded("/api/bench", version);
  // The newest first, as everywhere.
  const benchmarks = (answer?.benchmarks ?? []).toReversed();
  const isGoing = benchmarks.some(({ state }) => state === "running");
  useEffect(() => {
    if (!isGoing) return;
    const timer = setInterval(changed, LOOK_MS);
    return () => clearInterval(timer);
  }, [isGoing]);
  const shown = benchmarks.find(({ name }) => name === route.bench) ?? benchmarks[0];
  return h(
    "article",
    { class: "start", "aria-labelledby": "bench-title" },
    h("h1", { id: "bench-title" }, "Benchmarks"),
    h(
      "p",
      { class: "quiet" },
      "Every kernel is checked and timed, beside what the device can do at best. A run that goes on " +
        "meanwhile slows both down.",
    ),
    h(BenchmarkForm, { isGoing, onBegun: changed }),
    h(Failure, { error }),
    h(
      "nav",
      { "aria-label": "Benchmarks" },
      h(
        "ul",
        { class: "benchmarks" },
        benchmarks.map((one) => h(Entry, { key: one.name, one, isShown: one === shown })),
      ),
    ),
    shown === undefined ? null : h(BenchmarkView, {
      key: shown.name,
      benchmark: shown,
      others: benchmarks.filter((one) => one !== shown && one.state === "done"),
      route,
      version,
      onRemoved: changed,
    }),
  );
}

/** @param {{ one: Benchmark, isShown: boolean }} props */
function Entry({ one: { name, state, startedAt }, isShown }) {
  const target = { screen: "bench", bench: name, earlier: "" };
  return h(
    "li",
    { class: isShown ? "entry shown" : "entry" },
    h(
      "a",
      {
        href: addressOf(target),
        "aria-current": isShown ? "true" : undefined,
        onClick: (/** @type {MouseEvent} */ event) => follow(event, target),
      },
      h("span", { class: "name" }, name),
      h("span", { class: `badge ${TONES[state]}` }, state),
      h(
        "span",
        { class: "detail" },
        startedAt === null ? "came with the program" : formatTime(startedAt),
      ),
    ),
  );
}
