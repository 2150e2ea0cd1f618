import { Fragment, h } from "../vendor.js";
import { formatDuration, formatNumber, formatShare } from "../format.js";
import { runPath } from "../live/api.js";
import { useLoaded } from "../live/use_loaded.js";
import { go } from "../live/route.js";
import { Failure } from "../parts/failure.js";
import { StepField } from "../parts/step_field.js";
import { RankTable } from "./rank_table.js";
import { innermost, spanBounds, spanTotals } from "./span_totals.js";

/**
 * @import { RankSpans, Run } from "../contract.ts"
 * @import { PageState } from "../url_state.js"
 */

const SHOWN_STEPS = 12;
const ROW = 30;
const WIDTH = 1000;

/**
 * What each rank did when, in the newest steps or in those chosen.
 *
 * @param {{ run: Run, route: PageState, version: string }} props
 */
export function Timeline({ run, route, version }) {
  const from = route.from ?? Math.max(0, (route.to ?? run.step) - SHOWN_STEPS + 1);
  const to = route.to ?? run.step;
  /** @type {{ answer: { ranks: RankSpans[] } | null, error: Error | null }} */
  const { answer, error } = useLoaded(runPath(run.id, "timeline", { from, to }), version);
  const ranks = (answer?.ranks ?? []).map((one) => ({
    ...one,
    spans: innermost(one.spans.filter(({ step }) => step >= from && step <= to)),
  }));
  const totals = spanTotals(ranks);
  return h(
    Fragment,
    null,
    h(
      "div",
      { class: "tools", role: "group", "aria-label": "Which steps" },
      h(StepField, { label: "From step", value: from, onChange: (step) => go({ from: step }) }),
      h(StepField, { label: "to", value: to, onChange: (step) => go({ to: step }) }),
      h("button", { type: "button", onClick: () => go({ from: null, to: null }) }, "Newest"),
    ),
    h(Failure, { error }),
    answer !== null && totals.length === 0
      ? h("p", { class: "quiet" }, "No step is done yet whose parts were timed.")
      : h(Fragment, null, h(Rows, { ranks }), h(Totals, { totals })),
    h(RankTable, { id: run.id, from, to, version }),
  );
}

/** @param {string} name of what was done; the style sheet knows these, and draws any other in one colour */
function spanClass(name) {
  return `span ${name.replace(/[^a-z]+/g, "-")}`;
}

/** @param {{ ranks: RankSpans[] }} props */
function Rows({ ranks }) {
  const { begin, end } = spanBounds(ranks);
  const scale = WIDTH / Math.max(1e-9, end - begin);
  return h(
    "div",
    {
      class: "timeline",
      tabIndex: 0,
      role: "group",
      "aria-label": "Timeline; its sums are in the table below",
    },
    ranks.map(({ rank, name, spans }) =>
      h(
        "div",
        { class: "rank", key: rank },
        h("span", { class: "rank-name" }, name),
        h(
          "svg",
          { viewBox: `0 0 ${WIDTH} ${ROW}`, preserveAspectRatio: "none", "aria-hidden": "true" },
          spans.map((span, place) =>
            h(
              "rect",
              {
                key: place,
                class: spanClass(span.name),
                x: (span.begin - begin) * scale,
                width: Math.max(0.5, (span.end - span.begin) * scale),
                y: 2,
                height: ROW - 4,
              },
              h(
                "title",
                null,
                `step ${span.step}: ${span.name}, ${formatDuration(span.end - span.begin)}`,
              ),
            )
          ),
        ),
      )
    ),
    h("p", { class: "quiet scale" }, `${formatDuration(end - begin)} from left to right`),
  );
}

/** @param {{ totals: ReturnType<typeof spanTotals> }} props */
function Totals({ totals }) {
  return h(
    "table",
    null,
    h(
      "thead",
      null,
      h(
        "tr",
        null,
        ["Part", "Seconds", "Share"].map((title) => h("th", { scope: "col", key: title }, title)),
      ),
    ),
    h(
      "tbody",
      null,
      totals.map(({ name, seconds, share }) =>
        h(
          "tr",
          { key: name },
          h(
            "th",
            { scope: "row" },
            h("span", { class: `swatch ${spanClass(name)}`, "aria-hidden": "true" }),
            name,
          ),
          h("td", null, formatNumber(seconds)),
          h("td", null, formatShare(share)),
        )
      ),
    ),
    h("caption", null, "Of the steps shown, all ranks together."),
  );
}
