import { h } from "../vendor.js";
import { describeToken, numbersOf, shadeOf } from "./token_shades.js";

/**
 * @import { TokenPiece, TrainedText } from "./cut_tokens.js"
 * @import { TokenColour } from "./token_shades.js"
 */

/**
 * A trained text as it is looked at, token by token.
 *
 * @typedef {object} TokenView
 * @property {TrainedText} trained
 * @property {Exclude<TokenColour, "">} by
 * @property {number | null} chosen the token whose numbers are told
 * @property {(token: number) => void} choose
 */

/**
 * Part of a text, each of its tokens in the shade of its number.
 *
 * @param {{ pieces: readonly TokenPiece[], view: TokenView }} props
 */
export function TokenText({ pieces, view: { trained, by, chosen } }) {
  const numbers = numbersOf(trained, by) ?? [];
  return pieces.map(({ text, token }, place) =>
    h("span", {
      key: place,
      class: [
        "token",
        shadeOf(by, numbers[token]),
        text === "" ? "textless" : "",
        token === chosen ? "chosen" : "",
      ].filter((name) => name !== "").join(" "),
      title: describeToken(trained, token),
      "data-token": token,
    }, text)
  );
}

/**
 * What presses on a text do that has tokens: the one that is pressed is chosen.
 *
 * @param {TokenView} view
 */
export function choosing({ choose }) {
  return (/** @type {MouseEvent} */ { target }) => {
    const token = target instanceof Element ? target.closest("[data-token]") : null;
    if (token !== null) choose(Number(token.getAttribute("data-token")));
  };
}
