import { h } from "../vendor.js";
import { formatShare, formatSize } from "../format.js";
import { runPath } from "../live/api.js";
import { useLoaded } from "../live/use_loaded.js";
import { rankMetrics, rankShares } from "./rank_shares.js";

/**
 * @import { MetricsTable } from "../contract.ts"
 */

/**
 * What several ranks wait for each other and send, in the steps shown.
 *
 * @param {{ id: string, from: number, to: number, version: string }} props
 */
export function RankTable({ id, from, to, version }) {
  /** @type {{ answer: { names: string[] } | null, error: Error | null }} */
  const named = useLoaded(runPath(id, "metric-names"), version);
  const names = rankMetrics(named.answer?.names ?? []);
  /** @type {{ answer: MetricsTable | null, error: Error | null }} */
  const { answer } = useLoaded(
    names.length === 0 ? null : runPath(id, "metrics", { names: names.join(","), from, to }),
    version,
    id,
  );
  if (answer === null) return null;
  return h(
    "table",
    null,
    h("caption", null, "Of each rank, a mean over the steps shown."),
    h(
      "thead",
      null,
      h(
        "tr",
        null,
        ["Rank", "Waits for others", "Sends in a step"].map((title) =>
          h("th", { scope: "col", key: title }, title)
        ),
      ),
    ),
    h(
      "tbody",
      null,
      rankShares(answer).map(({ rank, idle, sent }) =>
        h(
          "tr",
          { key: rank },
          h("th", { scope: "row" }, `rank ${rank}`),
          h("td", null, formatShare(idle)),
          h("td", null, formatSize(sent)),
        )
      ),
    ),
  );
}
