import { describeToken, numbersOf, shadeOf, type TokenColour } from "./token_shades.ts";
import type { TokenPiece, TrainedText } from "./cut_tokens.ts";

/** A trained text as it is looked at, token by token. */
export interface TokenView {
  readonly trained: TrainedText;
  readonly by: TokenColour;
  /** The token whose numbers are told. */
  readonly chosen: number | null;
  readonly choose: (token: number) => void;
}

/** Part of a text, each of its tokens in the shade of its number. */
export function TokenText(
  { pieces, view: { trained, by, chosen } }: { pieces: readonly TokenPiece[]; view: TokenView },
) {
  const numbers = numbersOf(trained, by) ?? [];
  return pieces.map(({ text, token }, place) => (
    <span
      key={place}
      class={[
        "token",
        shadeOf(by, numbers[token]),
        text === "" ? "textless" : "",
        token === chosen ? "chosen" : "",
      ].filter((name) => name !== "").join(" ")}
      title={describeToken(trained, token)}
      data-token={token}
    >
      {text}
    </span>
  ));
}

/** What presses on a text do that has tokens: the one that is pressed is chosen. */
export function choosing({ choose }: TokenView) {
  return ({ target }: MouseEvent) => {
    const token = target instanceof Element ? target.closest("[data-token]") : null;
    if (token !== null) choose(Number(token.getAttribute("data-token")));
  };
}
