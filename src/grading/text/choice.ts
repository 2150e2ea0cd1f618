const CHOICE = /^"?\(?\s*"?([A-Ja-j])"?\s*[).:]?"?$/;
/** A choice with what it stands for after it: `(C) 12`, `\text{B. 5 cm}`. */
const CHOICE_AND_TEXT = /^(?:"?\(([A-J])\)|"?([A-J])[.)]|"\(?([A-J])[).]*")(?=.)/;
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

/** The letter that a text begins with as `(C) 12` does, or null. */
export function leadingChoice(text: string): string | null {
  const match = CHOICE_AND_TEXT.exec(text);
  return match === null ? null : match[1] ?? match[2] ?? match[3];
}
