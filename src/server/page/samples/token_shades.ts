/** What the colours of tokens say. */

import { formatNumber } from "../format.ts";
import type { PageState } from "../url_state.ts";
import type { TrainedText } from "./cut_tokens.ts";

/** What tokens are coloured by. */
export type TokenColour = Exclude<PageState["tokens"], "">;

/** Where a shade ends and the next one begins: the same for all samples and runs, so that they can be compared. */
const BOUNDS = {
  advantage: [0.5, 1, 2],
  difference: [0.001, 0.01, 0.1],
};

/** The numbers that tokens are coloured by; null when they were not measured. */
export function numbersOf({ advantages, differences }: TrainedText, by: TokenColour) {
  return by === "advantage" ? advantages : differences;
}

/** The class of a token's shade; what is 0 has none. */
export function shadeOf(by: TokenColour, value: number) {
  if (value === 0) return "";
  const tone = by === "difference" ? "apart" : value > 0 ? "raised" : "lowered";
  return `${tone}-${1 + BOUNDS[by].filter((bound) => Math.abs(value) > bound).length}`;
}

/** The scale: each shade with the numbers that have it, from the smallest. */
export function scaleOf(by: TokenColour): { shade: string; range: string }[] {
  const bounds = BOUNDS[by];
  const tone = by === "advantage" ? "raised" : "apart";
  const above = [...bounds, Infinity].map((bound, place) => ({
    shade: `${tone}-${place + 1}`,
    range: bound === Infinity ? `over ${bounds[bounds.length - 1]}` : `to ${formatNumber(bound)}`,
  }));
  const zero = { shade: "", range: "0" };
  if (by === "difference") return [zero, ...above];
  const below = above.map(({ shade, range }) => ({
    shade: shade.replace("raised", "lowered"),
    range: range.replace(/^over /, "below −").replace(/^to /, "to −"),
  }));
  return [...below.reverse(), zero, ...above];
}

/** A token's numbers in words. */
export function describeToken({ advantages, differences }: TrainedText, token: number) {
  const difference = differences === null
    ? "difference not measured"
    : `training − sampling ${signed(differences[token])}`;
  return `advantage ${signed(advantages[token])}, ${difference}`;
}

function signed(value: number) {
  return `${value > 0 ? "+" : ""}${formatNumber(value).replace(/^-/, "−")}`;
}
