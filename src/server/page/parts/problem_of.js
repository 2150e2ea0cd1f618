import { h, useLayoutEffect, useRef, useState } from "../vendor.js";
import { ApiError } from "../live/api.js";

/**
 * What the server has against a field of a form.
 *
 * @typedef {object} FieldProblem
 * @property {string} field
 * @property {string} message
 */

/**
 * The problem of one field, where that is what an error is about.
 *
 * @param {Error | null} error
 * @returns {FieldProblem | null}
 */
export function fieldProblem(error) {
  if (!(error instanceof ApiError) || error.field === null) return null;
  return { field: error.field, message: error.message };
}

/**
 * What a field says of itself to those who do not see what stands below it.
 *
 * @param {FieldProblem | null} wrong
 * @param {string} field
 * @param {string | null} hint the id of its hint
 */
export function describedBy(wrong, field, hint) {
  const isWrong = wrong?.field === field;
  const ids = [...(isWrong ? [`problem-${field}`] : []), ...(hint === null ? [] : [hint])];
  return {
    "aria-describedby": ids.length === 0 ? undefined : ids.join(" "),
    "aria-invalid": isWrong ? "true" : undefined,
  };
}

/**
 * The problem, below its field.
 *
 * @param {{ wrong: FieldProblem | null, field: string }} props
 */
export function ProblemOf({ wrong, field }) {
  if (wrong?.field !== field) return null;
  return h("p", { class: "problem-of", role: "alert", id: `problem-${field}` }, wrong.message);
}

/**
 * Brings the field that is to blame before the reader.
 *
 * @param {Error | null} error
 * @returns {{ form: import("preact").RefObject<HTMLFormElement>, elsewhere: Error | null }} `elsewhere`: the error
 *   when no field of the form is to blame
 */
export function useProblem(error) {
  const form = useRef(/** @type {HTMLFormElement | null} */ (null));
  const [blamed, setBlamed] = useState(/** @type {Error | null} */ (null));
  // Before anything is painted, or the problem would be told twice for a moment.
  useLayoutEffect(() => {
    const field = error === null ? null : form.current?.querySelector("[aria-invalid]");
    if (!(field instanceof HTMLElement)) return;
    field.focus();
    setBlamed(error);
  }, [error]);
  return { form, elsewhere: error === blamed ? null : error };
}
