import { formatShare, formatSize } from "../format.ts";
import { runPath } from "../live/api.ts";
import { useLoaded } from "../live/use_loaded.ts";
import { Head } from "../parts/head.tsx";
import { rankMetrics, rankShares } from "./rank_shares.ts";
import type { MetricsTable } from "../../index/read_metrics.ts";

/** What several ranks wait for each other and send, in the steps shown. */
export function RankTable(
  { id, from, to, version }: { id: string; from: number; to: number; version: string },
) {
  const named = useLoaded<{ names: string[] }>(runPath(id, "metric-names"), version);
  const names = rankMetrics(named.answer?.names ?? []);
  const { answer } = useLoaded<MetricsTable>(
    names.length === 0 ? null : runPath(id, "metrics", { names: names.join(","), from, to }),
    version,
    id,
  );
  if (answer === null) return null;
  return (
    <table>
      <caption>Of each rank, a mean over the steps shown.</caption>
      <Head titles={["Rank", "Waits for others", "Sends in a step"]} />
      <tbody>
        {rankShares(answer).map(({ rank, idle, sent }) => (
          <tr key={rank}>
            <th scope="row">rank {rank}</th>
            <td>{formatShare(idle)}</td>
            <td>{formatSize(sent)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
