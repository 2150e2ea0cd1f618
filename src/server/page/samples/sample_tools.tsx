import { go } from "../live/route.ts";
import { StepField } from "../parts/step_field.tsx";
import type { PageState } from "../url_state.ts";
import type { TokenColour } from "./token_shades.ts";

const FILTERS: readonly [string, string][] = [
  ["", "all"],
  ["disagrees", "verdict against the truth"],
  ["longest", "longest first"],
  ["cut-off", "cut off"],
  ["bad-format", "format broken"],
];

const COLOURS: readonly [string, string][] = [["judgment", "verifier's judgment"], [
  "advantage",
  "advantage",
]];

const TOKENS: readonly [TokenColour, string][] = [
  ["", "nothing"],
  ["advantage", "advantage"],
  ["difference", "sampling against training"],
];

/** Which samples, and what their colours say. */
export function SampleTools({ route }: { route: PageState }) {
  return (
    <div class="tools" role="group" aria-label="Which samples">
      <Choice
        label="Show"
        value={route.filter}
        options={FILTERS}
        onChange={(filter) => go({ filter, page: 1 })}
      />
      <StepField label="Step" value={route.step} onChange={(step) => go({ step, page: 1 })} />
      <Choice
        label="Steps coloured by"
        value={route.colour}
        options={COLOURS}
        onChange={(colour) => go({ colour })}
      />
      <Choice
        label="Tokens coloured by"
        value={route.tokens}
        options={TOKENS}
        onChange={(chosen) => go({ tokens: TOKENS.find(([name]) => name === chosen)?.[0] ?? "" })}
      />
      {route.group !== "" && (
        <button type="button" onClick={() => go({ group: "", page: 1 })}>All problems</button>
      )}
    </div>
  );
}

function Choice(
  { label, value, options, onChange }: {
    label: string;
    value: string;
    options: readonly [string, string][];
    onChange: (value: string) => void;
  },
) {
  return (
    <label>
      {label}
      <select value={value} onChange={({ currentTarget }) => onChange(currentTarget.value)}>
        {options.map(([name, text]) => (
          <option key={name} value={name} selected={name === value}>{text}</option>
        ))}
      </select>
    </label>
  );
}
