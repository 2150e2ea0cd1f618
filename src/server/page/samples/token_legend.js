import { h } from "../vendor.js";
import { scaleOf } from "./token_shades.js";

/** @import { TokenColour } from "./token_shades.js" */

const WORDS = {
  advantage:
    "A token's advantage. Above 0 it is made likelier, underlined; below 0 less likely, underlined with dots.",
  difference: "|log p(training) − log p(sampling)| of a token before the update, in nats.",
};

/**
 * What the shades of tokens mean.
 *
 * @param {{ by: Exclude<TokenColour, ""> }} props
 */
export function TokenLegend({ by }) {
  return h(
    "div",
    { class: "token-legend" },
    h("p", { class: "hint" }, WORDS[by]),
    h(
      "ul",
      { class: "legend", "aria-label": "Shades of tokens" },
      scaleOf(by).map(({ shade, range }) =>
        h("li", { key: range }, h("span", { class: `token ${shade}` }, range))
      ),
    ),
  );
}
