import { useState } from "preact/hooks";
import { runPath } from "../live/api.ts";
import { go, useRoute } from "../live/route.ts";
import { Choice, noneOr } from "../parts/choice.tsx";
import { StepRange } from "../parts/step_tools.tsx";

/** More of them are too narrow for a chart of usual width. */
const SEEN_PHASES = 150;

/** Which steps, how smooth, one more curve, and the numbers to take away: folded where there is room for little more. */
export function CurveTools(
  { id, names, metrics, phases }: {
    id: string;
    names: readonly string[];
    metrics: readonly string[];
    /** Stretches of steps that trained one policy; 0 where it is always the same. */
    phases: number;
  },
) {
  const [isOpen] = useState(() => matchMedia("(min-width: 761px)").matches);
  const { from, to, smoothing, more } = useRoute();
  return (
    <details class="curve-tools" open={isOpen}>
      <summary>How the curves are drawn</summary>
      <div class="tools" role="group" aria-label="How the curves are drawn">
        <label>
          Smoothing
          <input
            type="range"
            min={1}
            max={51}
            step={2}
            value={smoothing}
            aria-valuetext={`mean of ${smoothing} steps`}
            onInput={({ currentTarget }) =>
              go({ smoothing: Number(currentTarget.value) }, { replace: true })}
          />
          <output>{smoothing === 1 ? "none" : `${smoothing} steps`}</output>
        </label>
        <StepRange />
        <Choice
          label="One more"
          value={more}
          options={noneOr(names)}
          onChange={(more) => go({ more })}
        />
        <a
          class="button"
          href={runPath(id, "metrics", { names: metrics.join(","), from, to, format: "csv" })}
          download={`${id}.csv`}
        >
          CSV
        </a>
        {phases > 0 && (
          <span class="phases">
            <span class="shade generator" aria-hidden="true" />generator steps
            <span class="shade verifier" aria-hidden="true" />verifier steps{phases > SEEN_PHASES &&
              " (zoom in to see them)"}
          </span>
        )}
      </div>
    </details>
  );
}
