import { Fragment, h, useMemo, useState } from "../vendor.js";
import { formatShare } from "../format.js";
import { runPath } from "../live/api.js";
import { useLoaded } from "../live/use_loaded.js";
import { go } from "../live/route.js";
import { Chart } from "../charts/chart.js";
import { Failure } from "../parts/failure.js";
import { StepTools } from "../parts/step_tools.js";
import { confusionShares } from "./confusion_shares.js";

/**
 * @import { ConfusionPoint, Run } from "../contract.ts"
 * @import { PageState } from "../url_state.js"
 */

const LINES = [
  { label: "right, judged CORRECT", colour: 0, dash: 0 },
  { label: "wrong, judged INCORRECT", colour: 2, dash: 0 },
  { label: "right, judged INCORRECT", colour: 1, dash: 0 },
  { label: "wrong, judged CORRECT", colour: 3, dash: 0 },
];

/**
 * The verifier's confusion matrix at a step, and how it moved.
 *
 * @param {{ run: Run, route: PageState, version: string }} props
 */
export function Confusion({ run, route, version }) {
  const { from, to } = route;
  /** @type {{ answer: { points: ConfusionPoint[] } | null, error: Error | null }} */
  const { answer, error } = useLoaded(runPath(run.id, "confusion"), version);
  const [place, setPlace] = useState(/** @type {number | null} */ (null));
  const shares = useMemo(() => {
    const all = confusionShares(answer?.points ?? []);
    const within = all.filter(({ step }) => step >= (from ?? 0) && step <= (to ?? Infinity));
    return within.length > 0 ? within : all;
  }, [answer, from, to]);
  const steps = useMemo(() => shares.map(({ step }) => step), [shares]);
  const columns = useMemo(() => [
    shares.map((one) => one.trueCorrect),
    shares.map((one) => one.trueIncorrect),
    shares.map((one) => one.falseIncorrect),
    shares.map((one) => one.falseCorrect),
  ], [shares]);
  if (answer !== null && shares.length === 0) {
    return h("p", { class: "quiet" }, "The verifier has not judged anything yet.");
  }
  const shown = Math.min(place ?? shares.length - 1, shares.length - 1);
  return h(
    Fragment,
    null,
    h(StepTools, { from, to }),
    h(Failure, { error }),
    shares.length === 0 ? null : h(
      "div",
      { class: "confusion" },
      h(
        "section",
        { "aria-labelledby": "matrix-title" },
        h("h2", { id: "matrix-title" }, `Verdicts against the truth, step ${shares[shown].step}`),
        h(Matrix, { point: shares[shown] }),
        h(
          "label",
          { class: "field" },
          "Step",
          h("input", {
            type: "range",
            min: 0,
            max: shares.length - 1,
            value: shown,
            "aria-valuetext": `step ${shares[shown].step}`,
            onInput: (
              /** @type {Event & { currentTarget: HTMLInputElement }} */ { currentTarget },
            ) => {
              const chosen = Number(currentTarget.value);
              setPlace(chosen === shares.length - 1 ? null : chosen);
            },
          }),
        ),
      ),
      h(Chart, {
        title: "Over time",
        hint: "shares of all verdicts",
        share: true,
        lines: LINES,
        steps,
        columns,
        range: [steps[0], steps[steps.length - 1]],
        spans: [],
        onZoom: (range) => go(range),
      }),
    ),
  );
}

/** @param {{ point: ReturnType<typeof confusionShares>[number] }} props */
function Matrix({ point }) {
  /** @param {number} share @param {string} tone */
  const cell = (share, tone) =>
    h(
      "td",
      { class: tone },
      h("span", {
        class: "amount",
        style: { opacity: 0.15 + 0.85 * share },
        "aria-hidden": "true",
      }),
      h("span", { class: "share" }, formatShare(share)),
    );
  return h(
    "table",
    { class: "matrix" },
    h(
      "thead",
      null,
      h(
        "tr",
        null,
        h("td", null),
        h("th", { scope: "col" }, "judged CORRECT"),
        h("th", { scope: "col" }, "judged INCORRECT"),
      ),
    ),
    h(
      "tbody",
      null,
      h(
        "tr",
        null,
        h("th", { scope: "row" }, "right solution"),
        cell(point.trueCorrect, "right"),
        cell(point.falseIncorrect, "wrong"),
      ),
      h(
        "tr",
        null,
        h("th", { scope: "row" }, "wrong solution"),
        cell(point.falseCorrect, "wrong"),
        cell(point.trueIncorrect, "right"),
      ),
    ),
    h(
      "caption",
      null,
      `Balanced accuracy ${formatShare(point.balancedAccuracy)}; ${
        formatShare(point.unparsed)
      } could not be read.`,
    ),
  );
}
