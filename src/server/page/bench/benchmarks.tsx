import { useEffect, useState } from "preact/hooks";
import { formatTime } from "../format.ts";
import { useRoute } from "../live/route.ts";
import { useLoaded } from "../live/use_loaded.ts";
import { Failure } from "../parts/failure.tsx";
import { Link } from "../parts/link.tsx";
import { BenchmarkForm } from "./benchmark_form.tsx";
import { BenchmarkView } from "./benchmark_view.tsx";
import type { ListedBenchmark } from "../../benchmarks/benchmarks.ts";

const LOOK_MS = 1500;
const TONES = { running: "busy", done: "good", failed: "bad" };

/** How fast the kernels are here: starting a benchmark, all of them, and one of them beside an earlier one. */
export function Benchmarks() {
  const { bench, earlier } = useRoute();
  const [version, setVersion] = useState(0);
  const changed = () => setVersion((number) => number + 1);
  const { answer, error } = useLoaded<{ benchmarks: ListedBenchmark[] }>("/api/bench", version);
  // The newest first, as everywhere.
  const benchmarks = (answer?.benchmarks ?? []).toReversed();
  const isGoing = benchmarks.some(({ state }) => state === "running");
  useEffect(() => {
    if (!isGoing) return;
    const timer = setInterval(changed, LOOK_MS);
    return () => clearInterval(timer);
  }, [isGoing]);
  const shown = benchmarks.find(({ name }) => name === bench) ?? benchmarks[0];
  return (
    <article class="start" aria-labelledby="bench-title">
      <h1 id="bench-title">Benchmarks</h1>
      <p class="quiet">
        Every kernel is checked and timed, beside what the device can do at best. A run that goes on
        meanwhile slows both down.
      </p>
      <BenchmarkForm isGoing={isGoing} onBegun={changed} />
      <Failure error={error} />
      <nav aria-label="Benchmarks">
        <ul class="benchmarks">
          {benchmarks.map((one) => <Entry key={one.name} one={one} isShown={one === shown} />)}
        </ul>
      </nav>
      {shown !== undefined && (
        <BenchmarkView
          key={shown.name}
          benchmark={shown}
          others={benchmarks.filter((one) => one !== shown && one.state === "done")}
          earlier={earlier}
          version={version}
          onRemoved={changed}
        />
      )}
    </article>
  );
}

function Entry(
  { one: { name, state, startedAt }, isShown }: { one: ListedBenchmark; isShown: boolean },
) {
  return (
    <li class={isShown ? "entry shown" : "entry"}>
      <Link
        to={{ screen: "bench", bench: name, earlier: "" }}
        aria-current={isShown ? "true" : undefined}
      >
        <span class="name">{name}</span>
        <span class={`badge ${TONES[state]}`}>{state}</span>
        <span class="detail">
          {startedAt === null ? "came with the program" : formatTime(startedAt)}
        </span>
      </Link>
    </li>
  );
}
