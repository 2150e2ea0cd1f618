import { Fragment, h, useState } from "../vendor.js";
import { formatNumber } from "../format.js";

/**
 * @import { BenchmarkComparison, BenchmarkResults } from "../contract.ts"
 */

/** @typedef {BenchmarkResults["results"][number]} Result */
/** @typedef {BenchmarkComparison["results"][number]} Compared */

const UNITS = { gflops: "GFLOP/s", gbps: "GB/s", tokens_per_second: "tokens/s" };

/** What a change looks like; its words and its arrow say the same as its colour. */
const CHANGES = {
  faster: { tone: "good", arrow: "▲" },
  slower: { tone: "bad", arrow: "▼" },
  same: { tone: "", arrow: "≈" },
};

/**
 * The results of a benchmark, each beside the earlier one's where there is one.
 *
 * @param {{ results: readonly Result[], comparison: BenchmarkComparison | null }} props
 */
export function KernelTable({ results, comparison }) {
  const [wanted, setWanted] = useState("");
  const before = new Map((comparison?.results ?? []).map((one) => [keyOf(one), one]));
  const shown = results.filter((one) => keyOf(one).includes(wanted));
  const head = ["Kernel", "Shape", "Time", "Rate", "Of the limit", "Numbers"];
  return h(
    Fragment,
    null,
    comparison === null ? null : h(Summary, { comparison }),
    h(
      "label",
      { class: "field" },
      "Show only kernels with",
      h("input", {
        type: "search",
        value: wanted,
        onInput: (/** @type {Event & { currentTarget: HTMLInputElement }} */ { currentTarget }) =>
          setWanted(currentTarget.value),
      }),
    ),
    h(
      "div",
      { class: "wide-table", tabIndex: 0, role: "group", "aria-label": "Results" },
      h(
        "table",
        null,
        h(
          "thead",
          null,
          h(
            "tr",
            null,
            [...head, ...(comparison === null ? [] : ["Earlier", "Speed to it"])].map((title) =>
              h("th", { scope: "col", key: title }, title)
            ),
          ),
        ),
        h(
          "tbody",
          null,
          shown.map((one) =>
            h(Row, {
              key: keyOf(one),
              result: one,
              compared: comparison === null ? undefined : before.get(keyOf(one)) ?? null,
            })
          ),
        ),
      ),
    ),
  );
}

/** @param {{ result: Result, compared: Compared | null | undefined }} props compared: undefined without an earlier one */
function Row({ result, compared }) {
  const { name, shape, milliseconds, spread, rate, unit, share, error } = result;
  const noise = spread === null ? "" : ` ± ${percent(spread / 2)}`;
  const isRight = error !== null && error <= 1;
  return h(
    "tr",
    null,
    h("th", { scope: "row" }, name),
    h("td", null, shape),
    h("td", null, `${formatNumber(milliseconds)} ms${noise}`),
    h("td", null, `${formatNumber(rate)} ${UNITS[unit]}`),
    h("td", null, share === null ? "–" : percent(share)),
    h("td", { class: isRight ? "" : "verdict wrong" }, isRight ? "right" : "✗ wrong"),
    compared === undefined ? null : h(
      Fragment,
      null,
      h("td", null, compared === null ? "–" : `${formatNumber(compared.earlierMilliseconds)} ms`),
      h("td", null, compared === null ? "not in both" : h(Speed, { compared })),
    ),
  );
}

/** @param {{ compared: Compared }} props */
function Speed({ compared: { speed, change, noise } }) {
  if (speed === null || change === null) return h("span", null, "–");
  const { tone, arrow } = CHANGES[change];
  const factor = change === "slower" ? 1 / speed : speed;
  return h(
    "span",
    { class: `badge ${tone}`, title: `noise ${percent(noise)}` },
    h("span", { "aria-hidden": "true" }, `${arrow} `),
    `${formatNumber(Number(factor.toPrecision(3)))} × ${change}`,
  );
}

/** @param {{ comparison: BenchmarkComparison }} props */
function Summary({ comparison: { results, earlier, isSameDevice, unmatched } }) {
  /** @param {Compared["change"]} change */
  const count = (change) => results.filter((one) => one.change === change).length;
  return h(
    "div",
    { class: "notice", role: "status" },
    h(
      "p",
      null,
      `Beside ${earlier}: ${count("faster")} faster, ${count("slower")} slower, ${
        count("same")
      } the same within the noise: the spread of both times, and 5 % at least (10 % where the spread is not known).`,
    ),
    unmatched.length === 0
      ? null
      : h("p", null, `Only one of them has ${unmatched.length} others.`),
    isSameDevice ? null : h(
      "p",
      null,
      "They were made on different devices or engines: the speeds are those of the devices.",
    ),
  );
}

/** @param {{ name: string, shape: string }} of */
function keyOf({ name, shape }) {
  return `${name}/${shape}`;
}

/** @param {number} share */
function percent(share) {
  return `${formatNumber(Number((100 * share).toPrecision(2)))} %`;
}
