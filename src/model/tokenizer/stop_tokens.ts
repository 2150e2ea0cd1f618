import { UserError } from "../../base/user_error.ts";
import type { Tokenizer } from "./tokenizer.ts";

/**
 * The ids that end a response.
 *
 * @param named ids that the model's files name besides, from generation_config.json or a GGUF header
 * @param path how the error names the model
 * @throws UserError when there is none
 */
export function stopTokensOf(
  tokenizer: Tokenizer,
  named: readonly number[],
  path: string,
): readonly number[] {
  const eos = tokenizer.specialToken("eos_token");
  const ids = [...new Set(eos === null ? named : [eos, ...named])];
  if (ids.length > 0) return ids;
  throw new UserError(`${path}: its tokenizer names no eos_token: responses would never end`);
}

/** Stop tokens with one more, if there is one and it is not among them. */
export function withTurnEnd(
  stopTokens: readonly number[],
  turnEnd: number | null,
): readonly number[] {
  return turnEnd === null || stopTokens.includes(turnEnd) ? stopTokens : [...stopTokens, turnEnd];
}
