import { go, useRoute } from "../live/route.ts";
import { StepField } from "./step_field.tsx";

/** The steps that charts show; dragging in one says the same. */
export function StepRange() {
  const { from, to } = useRoute();
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

export function StepTools() {
  return (
    <div class="tools" role="group" aria-label="Which steps">
      <StepRange />
    </div>
  );
}
