import { go } from "../live/route.ts";
import { Choice, optionsOf } from "../parts/choice.tsx";
import { StepField } from "../parts/step_field.tsx";
import { COLOURS, FILTERS, type PageState, TOKENS } from "../url_state.ts";

/** Which samples, and what their colours say. */
export function SampleTools(
  { route: { filter, step, colour, tokens, group } }: { route: PageState },
) {
  return (
    <div class="tools" role="group" aria-label="Which samples">
      <Choice
        label="Show"
        value={filter}
        options={optionsOf(FILTERS)}
        onChange={(filter) => go({ filter, page: 1 })}
      />
      <StepField label="Step" value={step} onChange={(step) => go({ step, page: 1 })} />
      <Choice
        label="Steps coloured by"
        value={colour}
        options={optionsOf(COLOURS)}
        onChange={(colour) => go({ colour })}
      />
      <Choice
        label="Tokens coloured by"
        value={tokens}
        options={optionsOf(TOKENS)}
        onChange={(tokens) => go({ tokens })}
      />
      {group !== "" && (
        <button type="button" onClick={() => go({ group: "", page: 1 })}>All problems</button>
      )}
    </div>
  );
}
