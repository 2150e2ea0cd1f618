import { go } from "../live/route.ts";
import { Choice } from "../parts/choice.tsx";
import type { Asked } from "./verify.tsx";

/** Whom to ask, and what. */
export function VerifyFields(
  { runs, run, steps, step, asked, onChange }: {
    readonly runs: readonly string[];
    /** The one that is asked. */
    readonly run: string;
    /** Of its checkpoints. */
    readonly steps: readonly number[];
    /** Null for the newest. */
    readonly step: number | null;
    readonly asked: Asked;
    readonly onChange: (changes: Partial<Asked>) => void;
  },
) {
  return (
    <>
      <div class="fields">
        <Choice
          class="field"
          label="Run"
          value={run}
          options={runs.map((id) => [id, id])}
          onChange={(id) => go({ runs: [id], step: null })}
        />
        <Choice
          class="field"
          label="As it was after"
          value={step === null ? "" : String(step)}
          options={[
            ["", "the newest checkpoint"],
            ...steps.toReversed().map((one): [string, string] => [`${one}`, `step ${one}`]),
          ]}
          onChange={(one) => go({ step: one === "" ? null : Number(one) })}
        />
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
    label: string;
    hint?: string;
    rows: number;
    value: string;
    onInput: (value: string) => void;
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
        aria-describedby={hint && `${id}-hint`}
        onInput={({ currentTarget }) => onInput(currentTarget.value)}
      />
      {hint && <p class="hint" id={`${id}-hint`}>{hint}</p>}
    </div>
  );
}
