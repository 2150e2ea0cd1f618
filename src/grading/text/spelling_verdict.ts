import { leadingChoice, parseChoice } from "./choice.ts";
import { cleanLatex } from "./clean_latex.ts";
import { equalNumbers, parseNumberLiteral } from "./number_literal.ts";

/** In characters. Final answers are shorter; reading a longer one would take its square of time. */
export const MAXIMUM_LENGTH = 500;

/**
 * The verdict on an answer where it takes no symbolic mathematics: identical once cleaned, choices of a
 * letter, two plain numbers, or too long to parse. Null where it does.
 */
export function spellingVerdict(answer: string, reference: string): boolean | null {
  if (answer.length > MAXIMUM_LENGTH || reference.length > MAXIMUM_LENGTH) {
    return squeeze(answer) === squeeze(reference);
  }
  const [cleanAnswer, cleanReference] = [cleanLatex(answer), cleanLatex(reference)];
  const [left, right] = [squeeze(cleanAnswer), squeeze(cleanReference)];
  if (left === "" || right === "") return false;
  if (left === right) return true;
  const [choiceA, choiceB] = [parseChoice(cleanAnswer), parseChoice(cleanReference)];
  if (choiceA && choiceB && (choiceA.isMarked || choiceB.isMarked)) {
    return choiceA.letter === choiceB.letter;
  }
  if (choiceA && leadingChoice(cleanReference) === choiceA.letter) return true;
  if (choiceB && leadingChoice(cleanAnswer) === choiceB.letter) return true;
  const [a, b] = [parseNumberLiteral(left), parseNumberLiteral(right)];
  // `100,200` may be two numbers.
  const isAmbiguous = /\d,\d{3}/.test(`${answer} ${reference}`);
  return a && b && !isAmbiguous ? equalNumbers(a, b) : null;
}

function squeeze(text: string): string {
  return text.replaceAll(/[\s"]/g, "");
}
