import type { Policy } from "./policy.ts";
import type { VerifierTemplate } from "./prompt_template.ts";

/** A question to a verifier. */
export interface VerifierQuestion {
  readonly question: string;
  readonly solution: string;
  /** Steps that the solution has. */
  readonly steps: number;
}

/** Properties of a policy that a prompt depends on. */
export type Prompted<Template> = Pick<
  Policy<Template>,
  "tokenizer" | "template" | "config" | "maximumResponse" | "maximumPrompt"
>;

/** The most tokens that a prompt may have: so many that the longest response has room in the model's positions. */
export function promptRoom(
  { config, maximumResponse, maximumPrompt }: Omit<Prompted<unknown>, "template">,
): number {
  return Math.min(config.maxPositions - maximumResponse, maximumPrompt ?? Infinity);
}

/**
 * The prompt of a critique. A solution whose prompt is longer than may be loses its end: the generator's
 * tokens are counted when questions are chosen, and a verifier with another tokenizer may need more of its own
 * for the same text.
 *
 * @returns the prompt's tokens, which are too many only where the question alone is too long, and whether
 *   the solution was cut
 */
export function verifierPrompt(
  verifier: Prompted<VerifierTemplate>,
  asked: VerifierQuestion,
): { readonly prompt: Uint32Array; readonly isCut: boolean } {
  const { tokenizer, template } = verifier;
  const encode = (solution: string) => tokenizer.encode(template.render({ ...asked, solution }));
  const room = promptRoom(verifier);
  let prompt = encode(asked.solution);
  if (prompt.length <= room) return { prompt, isCut: false };
  const pieces = tokenizer.decodeEach(tokenizer.encode(asked.solution));
  let kept = pieces.length;
  while (prompt.length > room && kept > 0) {
    kept = Math.max(0, kept - (prompt.length - room));
    prompt = encode(pieces.slice(0, kept).join(""));
  }
  return { prompt, isCut: true };
}
