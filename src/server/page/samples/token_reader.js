import { h } from "../vendor.js";
import { tokenText } from "./cut_tokens.js";
import { describeToken, numbersOf } from "./token_shades.js";

/**
 * @import { TrainedText } from "./cut_tokens.js"
 * @import { TokenView } from "./token_text.js"
 */

/**
 * Goes through the tokens of a text, and tells the numbers of one: the way of those who do not hover.
 *
 * @param {{ view: TokenView }} props
 */
export function TokenReader({ view: { trained, by, chosen, choose } }) {
  const { ends, of } = trained;
  const place = chosen ?? 0;
  return h(
    "div",
    { class: "token-reader" },
    h(
      "label",
      null,
      h("span", null, `Token of the ${of}`),
      h("input", {
        type: "range",
        min: 0,
        max: Math.max(0, ends.length - 1),
        value: place,
        "aria-valuetext": reading(trained, place),
        onInput: (/** @type {Event & { currentTarget: HTMLInputElement }} */ { currentTarget }) =>
          choose(Number(currentTarget.value)),
      }),
    ),
    // The field itself says it to who cannot see it.
    h(
      "p",
      { "aria-hidden": "true" },
      chosen === null
        ? `${ends.length} tokens: press one, or move through them here.`
        : reading(trained, place),
    ),
    by === "advantage" && trained.isLeftOut
      ? h("p", { class: "quiet" }, "It was left out of the loss: nothing was learned from it.")
      : numbersOf(trained, by)?.every((value) => value === 0)
      ? h("p", { class: "quiet" }, NOTHING[by])
      : null,
  );
}

const NOTHING = {
  advantage: "Every token's advantage is 0: nothing speaks for or against this text.",
  difference: "Every token has the same log-probability in training as in sampling.",
};

/**
 * @param {TrainedText} trained
 * @param {number} token
 */
function reading(trained, token) {
  const text = tokenText(trained, token);
  const named = text === "" ? "without a text of its own" : JSON.stringify(text);
  return `${token + 1} of ${trained.ends.length}, ${named}: ${describeToken(trained, token)}`;
}
