import { tokenText, type TrainedText } from "./cut_tokens.ts";
import { describeToken, numbersOf } from "./token_shades.ts";
import type { TokenView } from "./token_text.tsx";

/** Goes through the tokens of a text, and tells the numbers of one: the way of those who do not hover. */
export function TokenReader({ view: { trained, by, chosen, choose } }: { view: TokenView }) {
  const { ends, of } = trained;
  const place = chosen ?? 0;
  return (
    <div class="token-reader">
      <label>
        <span>Token of the {of}</span>
        <input
          type="range"
          min={0}
          max={Math.max(0, ends.length - 1)}
          value={place}
          aria-valuetext={reading(trained, place)}
          onInput={({ currentTarget }) => choose(Number(currentTarget.value))}
        />
      </label>
      <p aria-hidden="true">
        {chosen === null
          ? `${ends.length} tokens: press one, or move through them here.`
          : reading(trained, place)}
      </p>
      {by === "advantage" && trained.isLeftOut
        ? <p class="quiet">It was left out of the loss: nothing was learned from it.</p>
        : numbersOf(trained, by)?.every((value) => value === 0)
        ? <p class="quiet">{NOTHING[by]}</p>
        : null}
    </div>
  );
}

const NOTHING = {
  advantage: "Every token's advantage is 0: nothing speaks for or against this text.",
  difference: "Every token has the same log-probability in training as in sampling.",
};

function reading(trained: TrainedText, token: number) {
  const text = tokenText(trained, token);
  const named = text === "" ? "without a text of its own" : JSON.stringify(text);
  return `${token + 1} of ${trained.ends.length}, ${named}: ${describeToken(trained, token)}`;
}
