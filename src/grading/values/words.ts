import type { AnswerValue } from "./answer_value.ts";

/** Whether two texts are the same words: case, space and punctuation do not count. Empty is unequal. */
export function equalWords(a: string, b: string): boolean {
  const left = plainWords(a);
  return left !== "" && left === plainWords(b);
}

/** A value read as words: letters in a row, or a choice such as `(A)`; else empty. */
export function wordsOf(value: AnswerValue): string {
  if (value.kind === "words") return value.text;
  if (value.kind === "quantity" && value.unit === null && !value.isPercent) {
    // A single bare letter is a variable, and `a` is not `A`.
    return /^[A-Za-z]{2,}$/.test(value.latex) ? value.latex : "";
  }
  return "";
}

function plainWords(text: string): string {
  return text.toLowerCase().replaceAll(/[^\p{Letter}\p{Number}]+/gu, " ").trim();
}
