import { Fragment, h } from "../vendor.js";
import { formatDuration, formatShare } from "../format.js";
import { addressOf, follow } from "../live/route.js";
import { StateBadge } from "../parts/state_badge.js";
import { describeSteps } from "../run/states.js";

/**
 * @import { Comparison, Measured, Run } from "../contract.ts"
 */

/**
 * The runs of a comparison, and its table.
 *
 * @param {{ comparison: Comparison, runs: readonly Run[] }} props
 */
export function ComparedRuns({ comparison, runs }) {
  return h(
    Fragment,
    null,
    comparison.table.length === 0
      ? h("p", { class: "quiet" }, "No run is finished yet: the first one makes the table.")
      : h(Results, { table: comparison.table }),
    h(
      "table",
      null,
      h("caption", null, "In the order in which they are done."),
      head(["Method", "Seed", "State", "Steps"]),
      h(
        "tbody",
        null,
        comparison.runs.map(({ id, method, seed }) => {
          const run = runs.find((one) => one.id === id) ?? null;
          return h(
            "tr",
            { key: id },
            h("th", { scope: "row" }, run === null ? method : h(Opened, { id }, method)),
            h("td", null, seed),
            h("td", null, run === null ? "to come" : h(StateBadge, { state: run.state })),
            h("td", null, run === null ? "–" : stepsOf(run)),
          );
        }),
      ),
    ),
  );
}

/** @param {Run} run */
function stepsOf(run) {
  const { secondsLeft } = run;
  return describeSteps(run) + (secondsLeft === null ? "" : `, ${formatDuration(secondsLeft)} left`);
}

/** @param {{ id: string, children?: import("preact").ComponentChildren }} props */
function Opened({ id, children }) {
  const target = { screen: "run", runs: [id], page: 1 };
  return h("a", {
    href: addressOf(target),
    onClick: (/** @type {MouseEvent} */ event) => follow(event, target),
  }, children);
}

/** @param {{ table: Comparison["table"] }} props */
function Results({ table }) {
  return h(
    "table",
    { class: "results" },
    h(
      "caption",
      null,
      "Held-out measurements of finished runs, at equal generator steps: mean ± sample standard deviation over seeds.",
    ),
    head(["", "Runs", "Generator's accuracy", "Verifier's balanced accuracy"]),
    h(
      "tbody",
      null,
      table.map(({ name, runs, generatorAccuracy, verifierBalancedAccuracy }) =>
        h(
          "tr",
          { key: name },
          h("th", { scope: "row" }, name),
          h("td", null, runs),
          h("td", null, spoken(generatorAccuracy)),
          h("td", null, spoken(verifierBalancedAccuracy)),
        )
      ),
    ),
  );
}

/** @param {readonly string[]} titles */
function head(titles) {
  const cells = titles.map((title) =>
    title === "" ? h("td", { key: title }) : h("th", { scope: "col", key: title }, title)
  );
  return h("thead", null, h("tr", null, cells));
}

/** @param {Measured | null} measured */
function spoken(measured) {
  if (measured === null) return "–";
  const { mean, deviation, runs } = measured;
  if (runs === 1) return formatShare(mean);
  return `${(100 * mean).toFixed(1)} ± ${formatShare(deviation)}`;
}
