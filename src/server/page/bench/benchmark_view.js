import { Fragment, h, useRef, useState } from "../vendor.js";
import { formatNumber } from "../format.js";
import { send } from "../live/api.js";
import { go } from "../live/route.js";
import { useLoaded } from "../live/use_loaded.js";
import { Failure } from "../parts/failure.js";
import { KernelTable } from "./kernel_table.js";

/**
 * @import { Benchmark, BenchmarkComparison, BenchmarkDetail, BenchmarkResults } from "../contract.ts"
 * @import { PageState } from "../url_state.js"
 */

/**
 * One benchmark: what it prints while it goes on, then its table, beside an earlier one if that is wanted.
 *
 * @param {{ benchmark: Benchmark, others: Benchmark[], route: PageState, version: number, onRemoved: () => void }} props
 */
export function BenchmarkView({ benchmark, others, route, version, onRemoved }) {
  const { name, state } = benchmark;
  const path = `/api/bench/${encodeURIComponent(name)}`;
  const earlier = others.find((one) => one.name === route.earlier)?.name ?? "";
  /** @type {{ answer: BenchmarkDetail | null, error: Error | null }} */
  const { answer, error } = useLoaded(path, `${version} ${state}`);
  const query = `comparison?earlier=${encodeURIComponent(earlier)}`;
  /** @type {{ answer: BenchmarkComparison | null, error: Error | null }} */
  const compared = useLoaded(
    earlier === "" || answer?.results == null ? null : `${path}/${query}`,
  );
  const results = answer?.results ?? null;
  return h(
    "section",
    { "aria-labelledby": "one-bench" },
    h("h2", { id: "one-bench" }, name),
    h(Failure, { error: error ?? compared.error }),
    answer?.error == null
      ? null
      : h("p", { class: "notice bad message", role: "alert" }, answer.error),
    results === null ? null : h(Device, { results }),
    results === null || others.length === 0 ? null : h(
      "label",
      { class: "field" },
      "Beside",
      h(
        "select",
        {
          value: earlier,
          onChange: (
            /** @type {Event & { currentTarget: HTMLSelectElement }} */ { currentTarget },
          ) => go({ bench: name, earlier: currentTarget.value }),
        },
        h("option", { value: "" }, "–"),
        others.map((one) =>
          h(
            "option",
            { key: one.name, value: one.name, selected: one.name === earlier },
            one.name,
          )
        ),
      ),
    ),
    results === null ? h(Output, { output: answer?.output ?? "", state }) : h(KernelTable, {
      results: results.results,
      comparison: compared.answer,
    }),
    benchmark.startedAt === null ? null : h(Remove, { benchmark, path, onRemoved }),
  );
}

/** @param {{ results: BenchmarkResults }} props */
function Device({ results: { adapter, engine, software, rates } }) {
  return h(
    Fragment,
    null,
    h(
      "p",
      null,
      `${adapter}, ${engine}`,
      software ? h("strong", null, " (a software driver on the CPU, not a GPU)") : null,
    ),
    h(
      "p",
      { class: "quiet" },
      `Its limits, measured then: ${formatNumber(rates.gflops)} GFLOP/s, ` +
        `${formatNumber(rates.gbps)} GB/s in a kernel, ${
          formatNumber(rates.driverCopyGbps)
        } GB/s by the driver's copy.`,
    ),
  );
}

/** @param {{ output: string, state: string }} props */
function Output({ output, state }) {
  if (output === "") {
    return h("p", { class: "quiet", role: "status" }, state === "running" ? "It begins …" : "");
  }
  return h("pre", { class: "output", tabIndex: 0, "aria-label": "What it has printed" }, output);
}

/** @param {{ benchmark: Benchmark, path: string, onRemoved: () => void }} props */
function Remove({ benchmark: { name, state }, path, onRemoved }) {
  const dialog = useRef(/** @type {HTMLDialogElement | null} */ (null));
  const [error, setError] = useState(/** @type {Error | null} */ (null));
  const label = state === "running" ? "End and delete" : "Delete";
  const remove = async () => {
    dialog.current?.close();
    try {
      await send("DELETE", path);
      go({ bench: "", earlier: "" });
      onRemoved();
    } catch (failure) {
      setError(failure instanceof Error ? failure : new Error(String(failure)));
    }
  };
  return h(
    Fragment,
    null,
    h(Failure, { error }),
    h(
      "button",
      { type: "button", class: "danger", onClick: () => dialog.current?.showModal() },
      label,
    ),
    h(
      "dialog",
      { ref: dialog, "aria-labelledby": "bench-question" },
      h("p", { id: "bench-question" }, `Delete the benchmark ${name}? This cannot be undone.`),
      h(
        "div",
        { class: "buttons" },
        h("button", { type: "button", onClick: () => dialog.current?.close() }, "No"),
        h("button", { type: "button", class: "danger", onClick: remove }, label),
      ),
    ),
  );
}
