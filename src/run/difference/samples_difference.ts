import { exists } from "../../platform/files/atomic_file.ts";
import { recordKey } from "../audit/record_name.ts";
import { readJsonLines } from "../store/json_lines_log.ts";
import { unpackNumbers } from "../store/packed_numbers.ts";
import type { SampleTokens } from "../store/sample_tokens.ts";
import type { Sample } from "../store/samples_log.ts";
import type { TwoRuns } from "./settings_difference.ts";

/** The first text that two runs wrote differently. */
export interface TextDifference {
  /** Its place among the samples that are kept of the step, counted from 1. */
  readonly sample: number;
  readonly of: "problem" | "solution" | "critique";
  /** The first token that is another, counted from 1; null where the tokens of the text are not kept. */
  readonly token: number | null;
  /** Where that token, or else what differs, begins: as many characters (UTF-16) before it are the same. */
  readonly begin: number;
  readonly a: DifferentText;
  readonly b: DifferentText;
}

/** One run's text. */
export interface DifferentText {
  readonly text: string;
  /**
   * Where its first token that is another ends, or its first such character; where it begins, if that token adds no text
   * or the text is over.
   */
  readonly end: number;
}

/**
 * The first text that differs among the samples that both runs kept of a step; null where none does: few of a step's
 * responses are kept.
 */
export function samplesDifference(
  { a, b }: TwoRuns,
  record: Pick<Sample, "step" | "phase">,
): TextDifference | null {
  const [first, second] = [a, b].map(({ samples }) =>
    exists(samples)
      ? readJsonLines<Sample>(samples).filter((one) => recordKey(one) === recordKey(record))
      : []
  );
  // Of how many each keeps depends which.
  if (first.length !== second.length) return null;
  // In the order in which they came about: critiques differ because solutions do.
  for (const kind of ["problem", "solution", "critique"] as const) {
    for (const [place, one] of first.entries()) {
      const texts = textsOf(one)[kind], others = textsOf(second[place])[kind];
      const i = texts.findIndex(({ text }, t) => t < others.length && text !== others[t].text);
      if (i < 0) continue;
      return { sample: place + 1, of: kind, ...firstDifference(texts[i], others[i]) };
    }
  }
  return null;
}

interface Text {
  readonly text: string;
  readonly tokens?: SampleTokens;
}

function textsOf(
  { problem, solution, tokens, critiques }: Sample,
): Readonly<Record<TextDifference["of"], readonly Text[]>> {
  return {
    problem: [{ text: problem }],
    solution: [{ text: solution, tokens }],
    critique: critiques,
  };
}

type FirstDifference = Pick<TextDifference, "token" | "begin" | "a" | "b">;

function firstDifference(a: Text, b: Text): FirstDifference {
  const same = sameCharacters(a.text, b.text);
  if (a.tokens === undefined || b.tokens === undefined) {
    return { token: null, begin: same, a: upToCharacter(a, same), b: upToCharacter(b, same) };
  }
  const [first, second] = [a.tokens, b.tokens].map(({ lengths }) => unpackNumbers(lengths));
  let [token, begin] = [0, 0];
  // Tokens that add nothing end a response, or begin a character: only the lengths tell them apart.
  while (
    token < first.length && first[token] === second[token] && begin + first[token] <= same
  ) begin += first[token++];
  const upToToken = ({ text }: Text, lengths: readonly number[]) => ({
    text,
    end: begin + (lengths[token] ?? 0),
  });
  return { token: token + 1, begin, a: upToToken(a, first), b: upToToken(b, second) };
}

/** How many characters (UTF-16) two texts begin with together; one that takes two is never cut. */
function sameCharacters(a: string, b: string): number {
  let same = 0;
  while (same < a.length && a[same] === b[same]) same++;
  return same > 0 && /[\ud800-\udbff]/.test(a[same - 1]) ? same - 1 : same;
}

function upToCharacter({ text }: Text, begin: number): DifferentText {
  const [character = ""] = text.slice(begin);
  return { text, end: begin + character.length };
}
