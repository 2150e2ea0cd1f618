import { go } from "../live/route.ts";
import { StepField } from "./step_field.tsx";

/** The steps that charts show; dragging in one says the same. */
export function StepRange({ from, to }: { from: number | null; to: number | null }) {
  return (
    <>
      <StepField label="From step" value={from} onChange={(value) => go({ from: value })} />
      <StepField label="to" value={to} onChange={(value) => go({ to: value })} />
      {from === null && to === null
        ? <span class="quiet wide">Drag in a chart to zoom</span>
        : <button type="button" onClick={() => go({ from: null, to: null })}>All steps</button>}
    </>
  );
}

export function StepTools(props: { from: number | null; to: number | null }) {
  return (
    <div class="tools" role="group" aria-label="Which steps">
      <StepRange {...props} />
    </div>
  );
}
