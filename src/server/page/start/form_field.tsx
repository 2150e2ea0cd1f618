import type { TargetedEvent } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { describedBy, type FieldProblems, ProblemOf } from "../parts/problem_of.tsx";
import { type Field, shownValue } from "./schema_fields.ts";

/** What fields of a form share. */
export interface FormParts {
  readonly valueOf: (key: string) => unknown;
  /** What was typed; null before anything was. */
  readonly textOf: (key: string) => string | null;
  readonly isChanged: (key: string) => boolean;
  readonly onType: (field: Field, text: string) => void;
  /** What the server refused. */
  readonly wrong: FieldProblems;
}

type FormFieldProps = FormParts & {
  readonly field: Field;
  /** What it is called; its key unless told. */
  readonly label?: string;
  /** Which fields of a section are shown; all unless told. */
  readonly isWanted?: (field: Field) => boolean;
  /** Whether sections are shown with what is in them. */
  readonly isOpen?: boolean;
};

/** A field of the configuration, or a section of them. */
export function FormField(props: FormFieldProps) {
  const { field, valueOf, textOf, isChanged, onType, wrong } = props;
  const { key, kind, description, nullable, choices, whole, minimum, maximum } = field;
  const name = props.label ?? key.split(".").at(-1);
  const text = textOf(key);
  // One that is typed as a whole does not become a section under the hand that types it.
  if (kind === "section" && !(nullable && (text !== null || valueOf(key) === null))) {
    return <Section {...props} name={name} />;
  }
  const shown = text ?? shownValue(field, valueOf(key));
  const common = {
    id: `field-${key}`,
    ...describedBy(wrong, key, description === "" ? null : `hint-${key}`),
    onInput: ({ currentTarget }: TargetedEvent<HTMLInputElement | HTMLSelectElement>) =>
      onType(field, currentTarget.value),
  };
  const options = kind === "flag" ? ["true", "false"] : choices;
  return (
    <div class={isChanged(key) ? "field changed" : "field"}>
      <label for={common.id}>{name}</label>
      {kind === "choice" || kind === "flag"
        ? (
          <select {...common} value={shown}>
            {[
              nullable || shown === ""
                ? <option key="" value="" selected={shown === ""}>–</option>
                : null,
              options.map((option) => (
                <option key={option} value={option} selected={option === shown}>{option}</option>
              )),
            ]}
          </select>
        )
        : (
          <input
            {...common}
            value={shown}
            placeholder={nullable ? "none" : undefined}
            list={/(^|[._])model$/.test(key) ? "models" : undefined}
            type={kind === "number" ? "number" : "text"}
            step={kind === "number" ? (whole ? 1 : "any") : undefined}
            min={minimum}
            max={maximum}
          />
        )}
      <ProblemOf wrong={wrong} field={key} />
      {description !== "" && <p class="hint" id={`hint-${key}`}>{description}</p>}
    </div>
  );
}

/**
 * Fields that belong together, behind their common name. What the server refused in it opens it, once: it is
 * the reader's from then on.
 */
function Section(props: FormFieldProps & { name: string | undefined }) {
  const { name, field: { key, description, fields }, isChanged, isWanted, isOpen, wrong } = props;
  const section = useRef<HTMLDetailsElement>(null);
  const isWrong = wrong.some(({ field }) => field.startsWith(`${key}.`));
  useLayoutEffect(() => {
    if (isWrong && section.current !== null) section.current.open = true;
  }, [isWrong, wrong]);
  const changed = fields.filter((inner) => isChanged(inner.key)).length;
  return (
    <details class="section" ref={section} open={isOpen}>
      <summary>{name}{changed !== 0 && <span class="badge warm">{changed} changed</span>}</summary>
      {description !== "" && <p class="hint">{description}</p>}
      <div class="fields">
        {fields.filter((inner) => isWanted?.(inner) ?? true).map((inner) => (
          <FormField {...props} label={undefined} field={inner} key={inner.key} />
        ))}
      </div>
    </details>
  );
}
