import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { ApiError } from "../live/api.ts";
import type { Remedy } from "../../http/problem.ts";
import { RemedyOf } from "./remedy_of.tsx";

/** What the server has against fields of a form. */
export type FieldProblems = readonly {
  readonly field: string;
  readonly message: string;
  readonly remedy?: Remedy;
}[];

const NONE: ApiError["faults"] = [];

/** Those of a field, or of what is written in it. */
function problemsOf(wrong: FieldProblems, field: string) {
  return wrong.filter(({ field: blamed }) =>
    blamed === field || blamed.startsWith(`${field}.`) || blamed.startsWith(`${field}[`)
  );
}

/** What a field says of itself to those who do not see what stands below it: the problem, and the hint of that id. */
export function describedBy(wrong: FieldProblems, field: string, hint: string | null) {
  const isWrong = problemsOf(wrong, field).length > 0;
  const ids = [...(isWrong ? [`problem-${field}`] : []), ...(hint === null ? [] : [hint])];
  return {
    "aria-describedby": ids.length === 0 ? undefined : ids.join(" "),
    "aria-invalid": isWrong || undefined,
  };
}

/** The problem, below its field. */
export function ProblemOf({ wrong, field }: { wrong: FieldProblems; field: string }) {
  const problems = problemsOf(wrong, field);
  if (problems.length === 0) return null;
  const remedies = problems.flatMap(({ remedy }) => remedy ?? []);
  const different = remedies.filter((one, place) =>
    remedies.findIndex((other) => JSON.stringify(other) === JSON.stringify(one)) === place
  );
  return (
    <>
      <p class="problem-of" role="alert" id={`problem-${field}`}>
        {problems.map(({ message }) => message).join("\n")}
      </p>
      {different.map((remedy) => <RemedyOf key={JSON.stringify(remedy)} remedy={remedy} />)}
    </>
  );
}

/**
 * Brings the first field that is to blame for an error before the reader.
 *
 * @returns `wrong`: what the server has against fields; `elsewhere`: what it has against none of the form's
 */
export function useProblem(error: Error | null) {
  const form = useRef<HTMLFormElement>(null);
  const [placed, setPlaced] = useState<{ error: Error | null; elsewhere: Error | null }>(
    { error: null, elsewhere: null },
  );
  const faults = error instanceof ApiError ? error.faults : NONE;
  const wrong = useMemo(
    () =>
      faults.flatMap(({ field, detail, remedy }) =>
        field === null ? [] : [{ field, message: detail, remedy }]
      ),
    [faults],
  );
  // Before anything is painted, or the problem would be told twice for a moment.
  useLayoutEffect(() => {
    const field = form.current?.querySelector("[aria-invalid]");
    if (!(field instanceof HTMLElement)) return setPlaced({ error, elsewhere: error });
    field.focus();
    const shown = [...form.current?.querySelectorAll(".problem-of") ?? []]
      .flatMap(({ id }) => problemsOf(wrong, id.slice("problem-".length)));
    const others = faults.filter(({ detail }) => shown.every(({ message }) => message !== detail));
    const words = others.map(({ detail }) => detail).join("\n");
    setPlaced({ error, elsewhere: words === "" ? null : new Error(words) });
  }, [error]);
  return { form, wrong, elsewhere: placed.error === error ? placed.elsewhere : error };
}
