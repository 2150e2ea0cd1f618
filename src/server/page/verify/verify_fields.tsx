import { go } from "../live/route.ts";
import type { ListedCheckpoint } from "../../routes/folders.ts";
import type { RunView } from "../../runs/run_view.ts";
import type { Asked } from "./verify.tsx";

/** Whom to ask, and what. */
export function VerifyFields(
  { runs, run, checkpoints, step, asked, onChange }: {
    readonly runs: readonly RunView[];
    /** The one that is asked. */
    readonly run: string;
    /** Of it. */
    readonly checkpoints: readonly ListedCheckpoint[];
    /** Of the checkpoint; null for the newest. */
    readonly step: number | null;
    readonly asked: Asked;
    readonly onChange: (changes: Partial<Asked>) => void;
  },
) {
  const steps = checkpoints.map(({ step }) => String(step)).reverse();
  return (
    <>
      <div class="fields">
        <label class="field">
          Run
          <select
            value={run}
            onChange={({ currentTarget }) => go({ runs: [currentTarget.value], step: null })}
          >
            {runs.map(({ id }) => <option key={id} value={id} selected={id === run}>{id}</option>)}
          </select>
        </label>
        <label class="field">
          As it was after
          <select
            value={step === null ? "" : String(step)}
            onChange={({ currentTarget: { value } }) =>
              go({ step: value === "" ? null : Number(value) })}
          >
            <option value="">the newest checkpoint</option>
            {steps.map((one) => (
              <option key={one} value={one} selected={one === String(step)}>step {one}</option>
            ))}
          </select>
        </label>
      </div>
      <Area
        label="Problem"
        rows={3}
        value={asked.problem}
        onInput={(problem) => onChange({ problem })}
      />
      <Area
        label="Solution"
        hint={"Empty: the generator writes one. In its format: " +
          "<think><step>…</step></think><answer>\\boxed{…}</answer>"}
        rows={6}
        value={asked.solution}
        onInput={(solution) => onChange({ solution })}
      />
    </>
  );
}

function Area(
  { label, hint, rows, value, onInput }: {
    readonly label: string;
    readonly hint?: string;
    readonly rows: number;
    readonly value: string;
    readonly onInput: (value: string) => void;
  },
) {
  const id = `verify-${label.toLowerCase()}`;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <textarea
        id={id}
        rows={rows}
        value={value}
        spellcheck={false}
        aria-describedby={hint === undefined ? undefined : `${id}-hint`}
        onInput={({ currentTarget }) => onInput(currentTarget.value)}
      />
      {hint !== undefined && <p class="hint" id={`${id}-hint`}>{hint}</p>}
    </div>
  );
}
