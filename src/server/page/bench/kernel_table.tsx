import { useState } from "preact/hooks";
import { formatNumber } from "../format.ts";
import { Head } from "../parts/head.tsx";
import { SearchField } from "../parts/search_field.tsx";
import type { BenchmarkComparison, BenchmarkResults } from "../../benchmarks/benchmark_results.ts";

type Result = BenchmarkResults["results"][number];

type Compared = BenchmarkComparison["results"][number];

const HEAD = ["Kernel", "Shape", "Time", "Rate", "Of the limit", "Numbers"];
const UNITS = { gflops: "GFLOP/s", gbps: "GB/s", tokens_per_second: "tokens/s" };

/** What a change looks like; its words and its arrow say the same as its colour. */
const CHANGES = {
  faster: { tone: "good", arrow: "▲" },
  slower: { tone: "bad", arrow: "▼" },
  same: { tone: "", arrow: "≈" },
};

/** The results of a benchmark, each beside the earlier one's where there is one. */
export function KernelTable(
  { results, comparison }: { results: readonly Result[]; comparison: BenchmarkComparison | null },
) {
  const [wanted, setWanted] = useState("");
  const before = new Map((comparison?.results ?? []).map((one) => [keyOf(one), one]));
  const shown = results.filter((one) => keyOf(one).includes(wanted));
  return (
    <>
      {comparison !== null && <Summary comparison={comparison} />}
      <SearchField label="Show only kernels with" wanted={wanted} onInput={setWanted} />
      <div class="wide-table" tabIndex={0} role="group" aria-label="Results">
        <table>
          <Head titles={comparison === null ? HEAD : [...HEAD, "Earlier", "Speed to it"]} />
          <tbody>
            {shown.map((one) => (
              <Row
                key={keyOf(one)}
                result={one}
                compared={comparison === null ? undefined : before.get(keyOf(one)) ?? null}
              />
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

function Row(
  { result, compared }: {
    result: Result;
    /** Undefined without an earlier benchmark, null where that has none like it. */
    compared: Compared | null | undefined;
  },
) {
  const { name, shape, milliseconds, spread, rate, unit, share, error } = result;
  const noise = spread === null ? "" : ` ± ${percent(spread / 2)}`;
  const isRight = error !== null && error <= 1;
  return (
    <tr>
      <th scope="row">{name}</th>
      <td>{shape}</td>
      <td>{formatNumber(milliseconds)} ms{noise}</td>
      <td>{formatNumber(rate)} {UNITS[unit]}</td>
      <td>{share === null ? "–" : percent(share)}</td>
      <td class={isRight ? "" : "verdict wrong"}>{isRight ? "right" : "✗ wrong"}</td>
      {compared !== undefined && (
        <>
          <td>{compared === null ? "–" : `${formatNumber(compared.earlierMilliseconds)} ms`}</td>
          <td>{compared === null ? "not in both" : <Speed compared={compared} />}</td>
        </>
      )}
    </tr>
  );
}

function Speed({ compared: { speed, change, noise } }: { compared: Compared }) {
  if (speed === null || change === null) return <span>–</span>;
  const { tone, arrow } = CHANGES[change];
  const factor = change === "slower" ? 1 / speed : speed;
  return (
    <span class={`badge ${tone}`} title={`noise ${percent(noise)}`}>
      <span aria-hidden="true">{arrow}</span> {formatNumber(Number(factor.toPrecision(3)))} ×{" "}
      {change}
    </span>
  );
}

function Summary(
  { comparison: { results, earlier, isSameDevice, unmatched } }: {
    comparison: BenchmarkComparison;
  },
) {
  const count = (change: Compared["change"]) =>
    results.filter((one) => one.change === change).length;
  return (
    <div class="notice" role="status">
      <p>
        Beside {earlier}: {count("faster")} faster, {count("slower")} slower, {count("same")}{" "}
        the same within the noise: the spread of both times, and 5 % at least (10 % where the spread
        is not known).
      </p>
      {unmatched.length > 0 && <p>Only one of them has {unmatched.length} others.</p>}
      {!isSameDevice && (
        <p>They were made on different devices or engines: the speeds are those of the devices.</p>
      )}
    </div>
  );
}

function keyOf({ name, shape }: { name: string; shape: string }) {
  return `${name}/${shape}`;
}

function percent(share: number) {
  return `${formatNumber(Number((100 * share).toPrecision(2)))} %`;
}
