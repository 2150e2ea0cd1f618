import { runPath } from "../live/api.ts";
import { go } from "../live/route.ts";
import { StepRange } from "../parts/step_tools.tsx";
import type { PageState } from "../url_state.ts";

/** More of them are too narrow for a chart of usual width. */
const SEEN_PHASES = 150;

/**
 * Which steps, how smooth, one more curve, and the numbers to take away.
 * phases: stretches of steps that trained one policy; 0 where it is always the same
 */
export function CurveTools(
  { id, route, names, metrics, phases }: {
    id: string;
    route: PageState;
    names: readonly string[];
    metrics: readonly string[];
    phases: number;
  },
) {
  const { from, to, smoothing, more } = route;
  return (
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
      <StepRange from={from} to={to} />
      <label>
        One more
        <select
          value={more}
          onChange={({ currentTarget }) => go({ more: currentTarget.value })}
        >
          <option value="">–</option>
          {names.map((name) => (
            <option key={name} value={name} selected={name === more}>{name}</option>
          ))}
        </select>
      </label>
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
          <span
            class="shade verifier"
            aria-hidden="true"
          />
          verifier steps{phases > SEEN_PHASES && " (zoom in to see them)"}
        </span>
      )}
    </div>
  );
}
