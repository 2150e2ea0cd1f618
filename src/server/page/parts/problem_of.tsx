import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { ApiError } from "../live/api.ts";
import type { RefObject } from "preact";

/** What the server has against a field of a form. */
export interface FieldProblem {
  readonly field: string;
  readonly message: string;
}

/** The problem of one field, where that is what an error is about. */
export function fieldProblem(error: Error | null): FieldProblem | null {
  if (!(error instanceof ApiError) || error.field === null) return null;
  return { field: error.field, message: error.message };
}

/**
 * What a field says of itself to those who do not see what stands below it.
 *
 * @param hint the id of its hint
 */
export function describedBy(wrong: FieldProblem | null, field: string, hint: string | null) {
  const isWrong = wrong?.field === field;
  const ids = [...(isWrong ? [`problem-${field}`] : []), ...(hint === null ? [] : [hint])];
  return {
    "aria-describedby": ids.length === 0 ? undefined : ids.join(" "),
    "aria-invalid": isWrong || undefined,
  };
}

/** The problem, below its field. */
export function ProblemOf({ wrong, field }: { wrong: FieldProblem | null; field: string }) {
  if (wrong?.field !== field) return null;
  return <p class="problem-of" role="alert" id={`problem-${field}`}>{wrong.message}</p>;
}

/**
 * Brings the field that is to blame before the reader.
 *
 * @returns `elsewhere`: the error
 * when no field of the form is to blame
 */
export function useProblem(
  error: Error | null,
): { form: RefObject<HTMLFormElement>; elsewhere: Error | null } {
  const form = useRef<HTMLFormElement>(null);
  const [blamed, setBlamed] = useState<Error | null>(null);
  // Before anything is painted, or the problem would be told twice for a moment.
  useLayoutEffect(() => {
    const field = error === null ? null : form.current?.querySelector("[aria-invalid]");
    if (!(field instanceof HTMLElement)) return;
    field.focus();
    setBlamed(error);
  }, [error]);
  return { form, elsewhere: error === blamed ? null : error };
}
