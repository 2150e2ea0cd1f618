import type { InputHTMLAttributes } from "preact";
import { describedBy, type FieldProblems, ProblemOf } from "./problem_of.tsx";

/** A field of text with what it is, and what the server has against it. */
export function TextField(
  { id, label, hint = null, name, wrong, onText, ...rest }:
    & Omit<InputHTMLAttributes<HTMLInputElement>, "label" | "name">
    & {
      id: string;
      label: string;
      hint?: string | null;
      /** What the server calls it. */
      name: string;
      wrong: FieldProblems;
      onText: (text: string) => void;
    },
) {
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        {...rest}
        id={id}
        {...describedBy(wrong, name, hint === null ? null : `${id}-hint`)}
        onInput={({ currentTarget }) => onText(currentTarget.value)}
      />
      <ProblemOf wrong={wrong} field={name} />
      {hint !== null && <p class="hint" id={`${id}-hint`}>{hint}</p>}
    </div>
  );
}
