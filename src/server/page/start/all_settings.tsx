import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { SearchField } from "../parts/search_field.tsx";
import { FormField, type FormParts } from "./form_field.tsx";
import type { Field } from "./schema_fields.ts";

/** Every key of the configuration that does not stand above, to be looked through or searched. */
export function AllSettings(
  { fields, left, wanted, onWanted, children, ...parts }: FormParts & {
    readonly fields: readonly Field[];
    /** Keys that are shown elsewhere, or not at all. */
    readonly left: readonly string[];
    readonly wanted: string;
    readonly onWanted: (words: string) => void;
    readonly children?: ComponentChildren;
  },
) {
  const all = useRef<HTMLDetailsElement>(null);
  const others = without(fields, left);
  const hasProblem = parts.wrong.some(({ field }) => hasKey(others, field));
  // What the server refused in it opens it, once: it is the reader's from then on.
  useLayoutEffect(() => {
    if (hasProblem && all.current !== null) all.current.open = true;
  }, [parts.wrong, hasProblem]);
  const words = wanted.toLowerCase();
  const isWanted = ({ key, description, fields }: Field): boolean =>
    wanted === "" || key.includes(words) || description.toLowerCase().includes(words) ||
    fields.some(isWanted);
  const found = others.filter(isWanted);
  return (
    <details class="section all" ref={all}>
      <summary>All settings</summary>
      <SearchField label="Only settings about" wanted={wanted} onInput={onWanted} />
      {found.length === 0 && <p class="quiet">No setting says that.</p>}
      <div class="fields">
        {wanted === "" && children}
        {found.map((field) => (
          <FormField
            {...parts}
            key={field.key}
            field={field}
            isWanted={isWanted}
            isOpen={wanted !== ""}
          />
        ))}
      </div>
    </details>
  );
}

/** Fields without those of some keys. */
function without(fields: readonly Field[], left: readonly string[]): Field[] {
  return fields.filter(({ key }) => !left.includes(key)).map((field) => ({
    ...field,
    fields: without(field.fields, left),
  }));
}

/** Whether a key is one of the fields', or lies in one. */
function hasKey(fields: readonly Field[], key: string): boolean {
  return fields.some((field) =>
    field.fields.length > 0
      ? hasKey(field.fields, key)
      : key === field.key || key.startsWith(`${field.key}.`) || key.startsWith(`${field.key}[`)
  );
}
