import type {
  LikeliestTokens,
  PromptLogProbs,
  SampledTokens,
} from "../../engine/sampling/request.ts";
import type { Tokenizer } from "../../model/tokenizer/tokenizer.ts";

/** What tokens are called beside their log-probs: their texts, or their ids. */
export class TokenNames {
  readonly #special: ReadonlyMap<number, string>;

  constructor(private readonly tokenizer: Tokenizer, private readonly asIds: boolean) {
    this.#special = new Map(tokenizer.specialTokens.map(({ id, content }) => [id, content]));
  }

  /** Of tokens that follow one another: joined, they are their text. */
  each(tokens: Uint32Array): string[] {
    if (this.asIds) return Array.from(tokens, idName);
    const texts = this.tokenizer.decodeEach(tokens);
    return texts.map((text, i) => this.#special.get(tokens[i]) ?? text);
  }

  /** Of one by itself. */
  one(token: number): string {
    if (this.asIds) return idName(token);
    return this.#special.get(token) ?? this.tokenizer.decode([token]);
  }
}

const idName = (id: number) => `token_id:${id}`;

/** A token with its log-prob. */
export interface NamedLogProb {
  readonly token: number;
  readonly logProb: number;
}

/** JSON has no infinity; a token that cannot come has this log-prob. */
const IMPOSSIBLE = -9999;

/** A log-prob as JSON has it. */
export const finite = (logProb: number) => logProb === -Infinity ? IMPOSSIBLE : logProb;

/**
 * The likeliest tokens at a place, k at most and the token itself, the likeliest first.
 *
 * @returns null where nothing is known
 */
export function neighboursAt(
  tokens: Uint32Array,
  { logProbs, likeliest }: Pick<PromptLogProbs | SampledTokens, "logProbs" | "likeliest">,
  place: number,
  k: number,
): NamedLogProb[] | null {
  if (Number.isNaN(logProbs[place])) return null;
  const own = { token: tokens[place], logProb: finite(logProbs[place]) };
  const others = likeliest === null ? [] : rowOf(likeliest, place).slice(0, k);
  return others.some(({ token }) => token === own.token) ? others : [...others, own];
}

function rowOf({ k, tokens, logProbs }: LikeliestTokens, place: number): NamedLogProb[] {
  return Array.from({ length: k }, (_, i) => {
    const at = place * k + i;
    return { token: tokens[at], logProb: finite(logProbs[at]) };
  });
}
