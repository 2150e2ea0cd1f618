import { h, useLayoutEffect, useRef } from "../vendor.js";
import { describedBy, ProblemOf } from "../parts/problem_of.js";
import { shownValue } from "./schema_fields.js";

/**
 * @import { FieldProblem } from "../parts/problem_of.js"
 * @import { Field } from "./schema_fields.js"
 */

/**
 * A field of the configuration, or a section of them.
 *
 * @param {object} props
 * @param {Field} props.field
 * @param {(key: string) => unknown} props.valueOf
 * @param {(key: string) => string | null} props.textOf what was typed; null before anything was
 * @param {(key: string) => boolean} props.isChanged
 * @param {(field: Field, text: string) => void} props.onType
 * @param {(field: Field) => boolean} props.isWanted
 * @param {FieldProblem | null} props.wrong what the server refused
 */
export function FormField(props) {
  const { field, valueOf, textOf, isChanged, onType, isWanted, wrong } = props;
  const { key, kind, description, nullable, choices, whole, minimum, maximum } = field;
  const name = key.split(".").at(-1);
  if (!isWanted(field)) return null;
  const text = textOf(key);
  // One that is typed as a whole does not become a section under the hand that types it.
  if (kind === "section" && !(nullable && (text !== null || valueOf(key) === null))) {
    return h(Section, { ...props, name });
  }
  const shown = text ?? shownValue(field, valueOf(key));
  const common = {
    id: `field-${key}`,
    ...describedBy(wrong, key, description === "" ? null : `hint-${key}`),
    onInput: (
      /** @type {Event & { currentTarget: HTMLInputElement | HTMLSelectElement }} */ {
        currentTarget,
      },
    ) => onType(field, currentTarget.value),
  };
  const options = kind === "flag" ? ["true", "false"] : choices;
  return h(
    "div",
    { class: isChanged(key) ? "field changed" : "field" },
    h("label", { for: common.id }, name),
    kind === "choice" || kind === "flag"
      ? h("select", { ...common, value: shown }, [
        nullable || shown === ""
          ? h("option", { key: "", value: "", selected: shown === "" }, "–")
          : null,
        options.map((option) =>
          h("option", { key: option, value: option, selected: option === shown }, option)
        ),
      ])
      : h("input", {
        ...common,
        value: shown,
        placeholder: nullable ? "none" : undefined,
        // The form has a list of the models that are there.
        list: name === "model" ? "models" : undefined,
        type: kind === "number" ? "number" : "text",
        step: kind === "number" ? (whole ? 1 : "any") : undefined,
        min: minimum,
        max: maximum,
      }),
    h(ProblemOf, { wrong, field: key }),
    description === "" ? null : h("p", { class: "hint", id: `hint-${key}` }, description),
  );
}

/**
 * Fields that belong together, behind their common name. What the server refused in it opens it, once: it is
 * the reader's from then on.
 *
 * @param {Parameters<typeof FormField>[0] & { name: string | undefined }} props
 */
function Section(props) {
  const { name, field: { key, description, fields }, isChanged, wrong } = props;
  const section = useRef(/** @type {HTMLDetailsElement | null} */ (null));
  const isWrong = wrong?.field.startsWith(`${key}.`) ?? false;
  useLayoutEffect(() => {
    if (isWrong && section.current !== null) section.current.open = true;
  }, [isWrong]);
  const changed = fields.filter((inner) => isChanged(inner.key)).length;
  return h(
    "details",
    { class: "section", ref: section },
    h(
      "summary",
      null,
      name,
      changed === 0 ? null : h("span", { class: "badge warm" }, `${changed} changed`),
    ),
    description === "" ? null : h("p", { class: "hint" }, description),
    h(
      "div",
      { class: "fields" },
      fields.map((inner) => h(FormField, { ...props, field: inner, key: inner.key })),
    ),
  );
}
