import { scaleOf, type TokenColour } from "./token_shades.ts";

const WORDS = {
  advantage:
    "A token's advantage. Above 0 it is made likelier, underlined; below 0 less likely, underlined with dots.",
  difference: "|log p(training) − log p(sampling)| of a token before the update, in nats.",
};

/** What the shades of tokens mean. */
export function TokenLegend({ by }: { by: TokenColour }) {
  return (
    <div class="token-legend">
      <p class="hint">{WORDS[by]}</p>
      <ul class="legend" aria-label="Shades of tokens">
        {scaleOf(by).map(({ shade, range }) => (
          <li key={range}>
            <span class={`token ${shade}`}>{range}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}
