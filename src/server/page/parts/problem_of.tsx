import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { ApiError } from "../live/api.ts";

/** What the server has against a field of a form. */
export interface FieldProblem {
  readonly field: string;
  readonly message: string;
}

/** What a field says of itself to those who do not see what stands below it: the problem, and the hint of that id. */
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
 * Brings the field that is to blame for an error before the reader.
 *
 * @returns `wrong`: the field that the server blames; `elsewhere`: the error when the form has no such field
 */
export function useProblem(error: Error | null) {
  const form = useRef<HTMLFormElement>(null);
  const [blamed, setBlamed] = useState<Error | null>(null);
  // Before anything is painted, or the problem would be told twice for a moment.
  useLayoutEffect(() => {
    const field = error === null ? null : form.current?.querySelector("[aria-invalid]");
    if (!(field instanceof HTMLElement)) return;
    field.focus();
    setBlamed(error);
  }, [error]);
  const wrong: FieldProblem | null = error instanceof ApiError && error.field !== null
    ? { field: error.field, message: error.message }
    : null;
  return { form, wrong, elsewhere: error === blamed ? null : error };
}
