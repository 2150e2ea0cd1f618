/**
 * What a made-up generator answers to the stand-ins, row by row, in spellings that differ from the files'; null is a
 * response without a box. Answers after `WRONG` are wrong, those before it right.
 */

const WRONG = Symbol();
type Listed = string | null | typeof WRONG;

/** Answers in the rows' order, and how many from the first on are right. */
export interface GivenAnswers {
  readonly answers: readonly (string | null)[];
  readonly right: number;
}

function given(...listed: Listed[]): GivenAnswers {
  const answers = listed.filter((one): one is string | null => one !== WRONG);
  return { answers, right: listed.indexOf(WRONG) };
}

export const STAND_IN_ANSWERS: Readonly<Record<string, GivenAnswers>> = {
  MATH500: given(
    ...["63.0", "3/8", "x = 7", "$144$", "6\\sqrt2", "\\left(4, \\infty\\right)", "0.25"],
    ...["x^2 - 6 - x", "108", "\\left(3,5\\right)", "40", "\\{3, 2\\}", "\\dfrac12", "1{,}024"],
    WRONG,
    ...["60", "\\frac{3}{2}", "6", "2", "3\\pi", null],
  ),
  AIME24: given(
    // 37·23, 48·30 and so on, without the thousands; an answer sheet's zeros do not count.
    ...["851", "440", "\\boxed{183}", "080", "131.0", "336"],
    WRONG,
    ...["1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", null],
  ),
  AIME25: given(
    ...["820", "225", "711", "278"],
    WRONG,
    ...["1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15", null],
  ),
  AMC23: given(
    ...["8", "15.0", "24", "35", "48.0", "63", "80", "99", "120", "\\text{143}"],
    WRONG,
    ...["1", "2", "3", "4", "5", "6", "7", "8", "9", "10"],
  ),
  // 20 rows of the mathematics alone, then the 14 of the other file that are neither proofs nor have images.
  OlympiadBench: given(
    ...["-\\sqrt{2}, \\sqrt{2}", "97", "0.8", "-6, 6", "24.0", "24", "(4, 3)", "1/3", "1 + n"],
    ...["\\pi \\cdot 4", "1", "2{,}401", "12", "5", "15", "x = 3", "7"],
    WRONG,
    ...["\\frac{4}{3}", "5", "2"],
    ...["3", "6", "9", "4", "2", "45", "1", "7", "2", "12", "3", "1", "2", null],
  ),
  BoardgameQA: given(
    ...["True", "False", "Uncertain", "true", "FALSE", "uncertain.", "\\text{True}", "no"],
    ...[" Uncertain ", "yes"],
    WRONG,
    ...["True", "True", "False", "Uncertain", "False", "Uncertain", "unknown", "disproved", null],
    "Uncertain",
  ),
  CRUXEval: given(
    ...['["a", "b"]', "42", '"LEAF"', "{2: 1, 1: 2}", '("x", 1)', "True", "None", '"done"'],
    ...["['a','b','c']", "2.5", "'top'", "[5]", "{2}", "4", "'f00'"],
    WRONG,
    ...["7", "1", "hey!", "[", "'True'"],
  ),
  StrategyQA: given(
    ...["No", "yes", "no.", "True", "False", "\\text{Yes}", "no", "yes"],
    WRONG,
    ...["no", "yes", "no", "no", "yes", "no", "maybe", "no", "yes", "no", null, "yes"],
  ),
  // Without its two charts and two analyses.
  TableBench: given(
    ...["4,500", "corl", "400", "the Bree", "1500.0", "55.56\\%", "no", "Ahlen, Bree"],
    WRONG,
    ...["201", "3", "1800", "Ahlen", "2.1", "No", "120", "Bree"],
  ),
};

/** The step that a made-up verifier calls the first wrong one, of each row; -1: none, null: it judges too few steps. */
export const STAND_IN_JUDGMENTS: Readonly<Record<string, readonly (number | null)[]>> = {
  // 12 with a wrong step, the first 6 found; then 8 without, the first 6 passed.
  "ProcessBench-gsm8k": [0, 1, 2, 0, 1, 2, 1, 2, 0, -1, null, 0, -1, -1, -1, -1, -1, -1, 0, null],
  // In turns: 4 of 10 found, 6 of 10 passed.
  "ProcessBench-math": [2, -1, 2, -1, 2, -1, 2, -1, 1, -1, 0, -1, 1, 2, 0, 1, -1, 0, null, null],
  // 4 of the 5 without a wrong step passed; 3 of 15 found.
  "ProcessBench-olympiadbench": [
    -1,
    -1,
    -1,
    -1,
    2,
    1,
    1,
    1,
    0,
    0,
    0,
    2,
    2,
    2,
    2,
    -1,
    -1,
    -1,
    -1,
    0,
  ],
  // 4 of 16 found, 1 of 4 passed.
  "ProcessBench-omnimath": [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, -1, -1, -1, -1, -1, 0, 1, 2],
};
