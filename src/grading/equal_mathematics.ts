import { cleanLatex } from "./text/clean_latex.ts";
import { equalValues } from "./values/compare_values.ts";
import { inOwnScope } from "./values/expressions.ts";
import { parseAnswer } from "./values/parse_answer.ts";
import { spellingVerdict } from "./text/spelling_verdict.ts";

/**
 * Whether a final answer equals the reference, in the manner of Math-Verify
 * (https://github.com/huggingface/Math-Verify). Never throws; an empty answer is wrong. May run for long on
 * hostile input, so untrusted answers go through `AnswerJudge`, which sets a time limit.
 *
 * | what | rule |
 * | --- | --- |
 * | length | above 500 characters only texts that are the same but for spaces are equal |
 * | spelling | `\dfrac`, `\left`, spacing, `$`, `\boxed`, `\frac12`, `1,000`, π and √ signs do not count |
 * | numbers | exact ones must be identical; a decimal equals what rounds to it in six places, so 0.333333 = 1/3 and 0.333 ≠ 1/3, and differs by less than a thousandth, so 1e-7 ≠ 2e-7 |
 * | percent | a percent sign has both readings: `50\%` equals 50 and 0.5 |
 * | units | count only where both sides have one of the table in units.ts and they differ; words that are no unit never count; no conversion |
 * | sets | no order, no repetition; `\{…\}` equals the bare list |
 * | lists | `1, 2`, `1 \text{ and } 2`, `1 \text{ or } 2` and `\pm` in any order |
 * | tuples | in order, same brackets; `(1,2)` equals the bare list `1,2` in that order, no set, no matrix |
 * | intervals | ends and kinds of ends; unions are joined; `x < 3` is `(-\infty,3)`, `x \ne 1` the line without 1 |
 * | equations | `x = 5` equals `5`; `x = 5` and `y = 5` differ; others up to a constant factor; none is solved |
 * | inequalities | may be turned round and multiplied by a positive number |
 * | matrices | entry by entry, whatever the brackets |
 * | formulas | equal in value at sample points: `(x+1)^2` equals `x^2+2x+1`; letters count |
 * | words | case, space and punctuation do not count; `A`, `(A)`, `\text{A.}` are the same choice, and so is `(A) 12` where the other is the letter alone |
 * | bases | `101_2` equals `101_2` and `101`, not `101_3` and not its value 5 |
 * | ratios | `3:4` equals `6:8` and 3/4; `10:30` is a time and equals only itself |
 * | angles | `90^\circ` equals 90; not converted to radians |
 */
export function equalMathematics(answer: string, reference: string): boolean {
  const verdict = spellingVerdict(answer, reference);
  if (verdict !== null) return verdict;
  return inOwnScope(() =>
    equalReadings(answer, reference, false) || equalReadings(answer, reference, true)
  );
}

/** Whether two texts are equal, the commas of `100,200` kept or read as thousands separators. */
function equalReadings(answer: string, reference: string, keepCommas: boolean): boolean {
  const texts = [answer, reference].map((text) => cleanLatex(text, keepCommas));
  if (keepCommas && !texts.some((text) => /\d,\d{3}/.test(text))) return false;
  const [a, b] = texts.map(parseAnswer);
  return a !== null && b !== null && equalValues(a, b);
}
