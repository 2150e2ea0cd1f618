import { Fragment, h } from "../vendor.js";
import { formatDuration, formatNumber, formatShare } from "../format.js";
import { runPath } from "../live/api.js";
import { useLoaded } from "../live/use_loaded.js";
import { go } from "../live/route.js";
import { Failure } from "../parts/failure.js";
import { StepField } from "../parts/step_field.js";
import { RankTable } from "./rank_table.js";
import { spanPlaces } from "./span_places.js";
import { spanTotals } from "./span_totals.js";

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
  const ranks = answer?.ranks ?? [];
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
  const { length, placeOf, gaps } = spanPlaces(ranks);
  const scale = WIDTH / Math.max(1e-9, length);
  const steps = ranks.flatMap(({ spans }) =>
    spans.length === 0 ? [] : [spans[0].step, spans[spans.length - 1].step]
  );
  return h(
    "div",
    {
      class: "timeline",
      tabIndex: 0,
      role: "group",
      "aria-label": "Timeline; its sums are in the table below",
    },
    ranks.map(({ rank, spans }) =>
      h(
        "div",
        { class: "rank", key: rank },
        h("span", { class: "rank-name" }, `rank ${rank}`),
        h(
          "svg",
          { viewBox: `0 0 ${WIDTH} ${ROW}`, preserveAspectRatio: "none", "aria-hidden": "true" },
          spans.map((span, place) =>
            h(
              "rect",
              {
                key: place,
                class: spanClass(span.name),
                x: placeOf(span.begin) * scale,
                width: Math.max(0.5, (span.end - span.begin) * scale),
                ...barOf(span.name),
              },
              h(
                "title",
                null,
                `step ${span.step}: ${span.name}, ${spoken(span.end - span.begin)}`,
              ),
            )
          ),
        ),
      )
    ),
    h(
      "p",
      { class: "quiet scale" },
      `Steps ${Math.min(...steps)} to ${Math.max(...steps)}, ${spoken(length)} from left to right.`,
      gaps.map(({ step, seconds }) =>
        ` Drawn shorter: ${formatDuration(seconds)} after step ${step}.`
      ),
    ),
  );
}

/**
 * What is no work is seen by its height too.
 *
 * @param {string} name
 */
function barOf(name) {
  const height = name === "idle" ? 4 : name === "communicate" ? 12 : ROW - 4;
  return { y: (ROW - height) / 2, height };
}

/** @param {number} seconds */
function spoken(seconds) {
  return seconds < 10 ? `${formatNumber(seconds)} s` : formatDuration(seconds);
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
