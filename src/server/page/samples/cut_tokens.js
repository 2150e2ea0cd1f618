/** A text's tokens, as samples.jsonl has them. */

/**
 * @import { PackedNumbers, Sample, SampleTokens } from "../contract.ts"
 */

/**
 * A text that was learned from, and its tokens.
 *
 * @typedef {object} TrainedText
 * @property {"solution" | "critique"} of
 * @property {string} text
 * @property {readonly number[]} ends where each token ends in the text; one without a text ends where the last did
 * @property {readonly number[]} advantages
 * @property {readonly number[] | null} differences log p(training) − log p(sampling); null where not measured
 * @property {boolean} isLeftOut whether nothing was learned from it, whatever the advantages
 */

/**
 * @typedef {object} TokenPiece
 * @property {string} text all of a token, or what of it lies in one part of the text; may be ""
 * @property {number} token its place, from 0
 */

/**
 * The text of a sample that its step has trained, with its tokens; null when the sample has none or they do not
 * fit the text.
 *
 * @param {Pick<Sample, "solution" | "tokens" | "critiques">} sample
 * @returns {TrainedText | null}
 */
export function trainedText({ solution, tokens, critiques }) {
  if (tokens !== undefined) return textWith("solution", solution, tokens);
  const trained = critiques.find((critique) => critique.tokens !== undefined);
  return trained?.tokens === undefined ? null : textWith("critique", trained.text, trained.tokens);
}

/**
 * @param {TrainedText["of"]} of
 * @param {string} text
 * @param {SampleTokens} record
 * @returns {TrainedText | null}
 */
function textWith(of, text, record) {
  let end = 0;
  const ends = unpack(record.lengths).map((length) => end += length);
  const advantages = unpack(record.advantages);
  const differences = record.logProbDifferences === undefined
    ? null
    : unpack(record.logProbDifferences);
  const fit = end === text.length && advantages.length === ends.length &&
    (differences === null || differences.length === ends.length);
  const isLeftOut = record.isLeftOut === true;
  return fit ? { of, text, ends, advantages, differences, isLeftOut } : null;
}

/**
 * @param {PackedNumbers} packed
 * @returns {number[]}
 */
function unpack(packed) {
  return packed.flatMap((entry) =>
    typeof entry === "number" ? [entry] : Array(entry[1]).fill(entry[0])
  );
}

/**
 * The text of one token.
 *
 * @param {Pick<TrainedText, "text" | "ends">} trained
 * @param {number} token
 */
export function tokenText({ text, ends }, token) {
  return text.slice(token === 0 ? 0 : ends[token - 1], ends[token]);
}

/**
 * Cuts parts of a text where its tokens end. A token that lies in two parts has a piece in each; one without a text
 * stands after what comes before it.
 *
 * @param {readonly string[]} parts together, the text
 * @param {readonly number[]} ends
 * @returns {TokenPiece[][]} by part
 */
export function cutTokens(parts, ends) {
  let token = 0;
  let begin = 0;
  return parts.map((text) => {
    const end = begin + text.length;
    /** @type {TokenPiece[]} */
    const pieces = [];
    let rest = text;
    for (; token < ends.length && ends[token] <= end; token++) {
      const length = ends[token] - begin;
      pieces.push({ text: rest.slice(0, length), token });
      rest = rest.slice(length);
      begin = ends[token];
    }
    if (rest !== "") pieces.push({ text: rest, token });
    begin = end;
    return pieces;
  });
}
