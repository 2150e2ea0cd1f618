const CHOICE = /^"?\(?\s*"?([A-Ja-j])"?\s*[).:]?"?$/;
const MARKED = /["().:]/;

/** A letter of multiple choice. */
export interface Choice {
  readonly letter: string;
  /** Written as a choice, `(A)` or `\text{A}`, not as a bare letter that may be a variable. */
  readonly isMarked: boolean;
}

/** Reads `A`, `(A)`, `A.`, `\text{(A)}` and their like from cleaned text; null for anything else. */
export function parseChoice(text: string): Choice | null {
  const letter = CHOICE.exec(text)?.[1];
  return letter === undefined
    ? null
    : { letter: letter.toUpperCase(), isMarked: MARKED.test(text) };
}
