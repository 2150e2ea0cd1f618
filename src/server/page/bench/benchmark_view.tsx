import { formatNumber } from "../format.ts";
import { go } from "../live/route.ts";
import { useLoaded } from "../live/use_loaded.ts";
import { Choice, noneOr } from "../parts/choice.tsx";
import { DeleteButton } from "../parts/delete_button.tsx";
import { Failure } from "../parts/failure.tsx";
import { KernelTable } from "./kernel_table.tsx";
import type { BenchmarkComparison, BenchmarkResults } from "../../benchmarks/benchmark_results.ts";
import type { Benchmark, ListedBenchmark } from "../../benchmarks/benchmarks.ts";

/** One benchmark: what it prints while it goes on, then its table, beside an earlier one if that is wanted. */
export function BenchmarkView(
  { benchmark, others, earlier: beside, version, onRemoved }: {
    benchmark: ListedBenchmark;
    others: ListedBenchmark[];
    /** The name of one of them, or none. */
    earlier: string;
    version: number;
    onRemoved: () => void;
  },
) {
  const { name, state } = benchmark;
  const path = `/api/bench/${encodeURIComponent(name)}`;
  const earlier = others.find((one) => one.name === beside)?.name ?? "";
  const { answer, error } = useLoaded<Benchmark>(path, `${version} ${state}`);
  const query = `comparison?earlier=${encodeURIComponent(earlier)}`;
  const compared = useLoaded<BenchmarkComparison>(
    earlier === "" || answer?.results == null ? null : `${path}/${query}`,
  );
  const results = answer?.results ?? null;
  return (
    <section aria-labelledby="one-bench">
      <h2 id="one-bench">{name}</h2>
      <Failure error={error ?? compared.error} />
      {answer?.error && <p class="notice bad message" role="alert">{answer.error}</p>}
      {results !== null && <Device results={results} />}
      {results !== null && others.length > 0 && (
        <Choice
          class="field"
          label="Beside"
          value={earlier}
          options={noneOr(others.map((one) => one.name))}
          onChange={(earlier) => go({ bench: name, earlier })}
        />
      )}
      {results === null
        ? <Output output={answer?.output ?? ""} state={state} />
        : <KernelTable results={results.results} comparison={compared.answer} />}
      {benchmark.startedAt !== null && (
        <DeleteButton
          path={path}
          question={`Delete the benchmark ${name}? This cannot be undone.`}
          label={state === "running" ? "End and delete" : "Delete"}
          onRemoved={() => {
            go({ bench: "", earlier: "" });
            onRemoved();
          }}
        />
      )}
    </section>
  );
}

function Device({ results: { adapter, engine, software, rates } }: { results: BenchmarkResults }) {
  return (
    <>
      <p>
        {adapter}, {engine} {software && <strong>(a software driver on the CPU, not a GPU)</strong>}
      </p>
      <p class="quiet">
        {`Its limits, measured then: ${formatNumber(rates.gflops)} GFLOP/s, ` +
          `${formatNumber(rates.gbps)} GB/s in a kernel, ` +
          `${formatNumber(rates.driverCopyGbps)} GB/s by the driver's copy.`}
      </p>
    </>
  );
}

function Output({ output, state }: { output: string; state: string }) {
  if (output === "") {
    return <p class="quiet" role="status">{state === "running" ? "It begins …" : ""}</p>;
  }
  return <pre class="output" tabIndex={0} aria-label="What it has printed">{output}</pre>;
}
