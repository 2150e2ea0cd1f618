import { formatNumber, formatShare, shortDuration } from "../format.ts";
import { runPath } from "../live/api.ts";
import { useLoaded } from "../live/use_loaded.ts";
import { go, useRoute } from "../live/route.ts";
import { Failure } from "../parts/failure.tsx";
import { Head } from "../parts/head.tsx";
import { StepField } from "../parts/step_field.tsx";
import { RankTable } from "./rank_table.tsx";
import { spanPlaces } from "./span_places.ts";
import { spanTotals } from "./span_totals.ts";
import type { RankTimeline } from "../../runs/read_timeline.ts";
import type { RunView } from "../../runs/run_view.ts";

const SHOWN_STEPS = 12;
const ROW = 30;
const WIDTH = 1000;

/** What each rank did when, in the newest steps or in those chosen. */
export function Timeline({ run, version }: { run: RunView; version: string }) {
  const route = useRoute();
  const from = route.from ?? Math.max(0, (route.to ?? run.step) - SHOWN_STEPS + 1);
  const to = route.to ?? run.step;
  const { answer, error } = useLoaded<{ ranks: RankTimeline[] }>(
    runPath(run.id, "timeline", { from, to }),
    version,
  );
  const ranks = answer?.ranks ?? [];
  const totals = spanTotals(ranks);
  return (
    <>
      <div class="tools" role="group" aria-label="Which steps">
        <StepField label="From step" value={from} onChange={(step) => go({ from: step })} />
        <StepField label="to" value={to} onChange={(step) => go({ to: step })} />
        <button type="button" onClick={() => go({ from: null, to: null })}>Newest</button>
      </div>
      <Failure error={error} />
      {answer !== null && totals.length === 0
        ? <p class="quiet">No step is done yet whose parts were timed.</p>
        : (
          <>
            <Rows ranks={ranks} />
            <Totals totals={totals} />
          </>
        )}
      <RankTable id={run.id} from={from} to={to} version={version} />
    </>
  );
}

/** @param name of what was done; the style sheet knows these, and draws any other in one colour */
function spanClass(name: string) {
  return `span ${name.replace(/[^a-z]+/g, "-")}`;
}

function Rows({ ranks }: { ranks: RankTimeline[] }) {
  const { length, placeOf, gaps } = spanPlaces(ranks);
  const scale = WIDTH / Math.max(1e-9, length);
  const steps = ranks.flatMap(({ spans }) =>
    spans.length === 0 ? [] : [spans[0].step, spans[spans.length - 1].step]
  );
  return (
    <div
      class="timeline"
      tabIndex={0}
      role="group"
      aria-label="Timeline; its sums are in the table below"
    >
      {ranks.map(({ rank, spans }) => (
        <div class="rank" key={rank}>
          <span class="rank-name">rank {rank}</span>
          <svg viewBox={`0 0 ${WIDTH} ${ROW}`} preserveAspectRatio="none" aria-hidden="true">
            {spans.map((span, place) => (
              <rect
                key={place}
                class={spanClass(span.name)}
                x={placeOf(span.begin) * scale}
                width={Math.max(0.5, (span.end - span.begin) * scale)}
                {...barOf(span.name)}
              >
                <title>step {span.step}: {span.name}, {spoken(span.end - span.begin)}</title>
              </rect>
            ))}
          </svg>
        </div>
      ))}
      <p class="quiet scale">
        Steps {Math.min(...steps)} to {Math.max(...steps)}, {spoken(length)}{" "}
        from left to right.{gaps.map(({ step, seconds }) =>
          ` Drawn shorter: ${shortDuration(seconds)} after step ${step}.`
        )}
      </p>
    </div>
  );
}

/** What is no work is seen by its height too. */
function barOf(name: string) {
  const height = name === "idle" ? 4 : name === "communicate" ? 12 : ROW - 4;
  return { y: (ROW - height) / 2, height };
}

function spoken(seconds: number) {
  return seconds < 10 ? `${formatNumber(seconds)} s` : shortDuration(seconds);
}

function Totals({ totals }: { totals: ReturnType<typeof spanTotals> }) {
  return (
    <table>
      <Head titles={["Part", "Seconds", "Share"]} />
      <tbody>
        {totals.map(({ name, seconds, share }) => (
          <tr key={name}>
            <th scope="row">
              <span class={`swatch ${spanClass(name)}`} aria-hidden="true" />
              {name}
            </th>
            <td>{formatNumber(seconds)}</td>
            <td>{formatShare(share)}</td>
          </tr>
        ))}
      </tbody>
      <caption>Of the steps shown, all ranks together.</caption>
    </table>
  );
}
