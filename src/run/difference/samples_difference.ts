import { exists } from "../../base/atomic_file.ts";
import { recordKey } from "../audit/records.ts";
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
  /** The texts from a little before it on. */
  readonly a: string;
  readonly b: string;
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
      const { text, tokens } = texts[i];
      return { sample: place + 1, of: kind, ...difference(text, others[i].text, tokens) };
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

/** Characters of a text that are shown before what differs, and in all. */
const BEFORE = 16, SHOWN = 48;

function difference(a: string, b: string, tokens: SampleTokens | undefined) {
  let begin = 0;
  while (begin < a.length && a[begin] === b[begin]) begin++;
  const shown = (text: string) => {
    const from = Math.max(0, begin - BEFORE);
    return `${from > 0 ? "…" : ""}${text.slice(from, from + SHOWN)}${
      text.length > from + SHOWN ? "…" : ""
    }`;
  };
  return { token: tokens ? tokenAt(tokens, begin) : null, a: shown(a), b: shown(b) };
}

/** The token that a character belongs to, counted from 1. */
function tokenAt({ lengths }: SampleTokens, character: number): number {
  let end = 0;
  const all = unpackNumbers(lengths);
  const token = all.findIndex((length) => (end += length) > character);
  return (token < 0 ? all.length : token) + 1;
}
