import { UserError } from "../../base/user_error.ts";

type Json = Readonly<Record<string, unknown>>;

/**
 * Checks the ids of a tokenizer.json before anything is made of them: a tokenizer takes room for every id up to
 * its largest.
 *
 * @param vocabularySize of the model
 * @param origin what says so, for the error
 * @throws UserError naming the token with the largest id when it is not one of the model's, or a token whose id is none
 */
export function checkTokenIds(
  definition: Json,
  vocabularySize: number,
  file: string,
  origin: string,
): void {
  let largest = -1;
  let where = "";
  for (const [id, token, key] of tokenIds(definition)) {
    if (typeof id !== "number" || !Number.isInteger(id) || id < 0) {
      throw new UserError(
        `${file}: the id of ${JSON.stringify(token)} in ${key} is ${JSON.stringify(id)}; ` +
          `expected a whole number from 0 on`,
      );
    }
    if (id <= largest) continue;
    largest = id;
    where = `${JSON.stringify(token)} in ${key}`;
  }
  if (largest < vocabularySize) return;
  throw new UserError(
    `${file}: its largest token id is ${largest} (${where}); ${origin} is ${vocabularySize}, so ids ` +
      `must be less. Do the weights and the tokenizer belong to one model?`,
  );
}

/** The largest id of a tokenizer.json whose ids were checked; -1 where there is none. */
export function largestTokenId(definition: Json): number {
  let largest = -1;
  for (const [id] of tokenIds(definition)) largest = Math.max(largest, Number(id));
  return largest;
}

/** Every id with its token and where that stands; what is no list or object has none. */
function* tokenIds({ model, added_tokens: added }: Json): Generator<[unknown, unknown, string]> {
  const vocabulary = (model as Json | undefined)?.vocab;
  if (Array.isArray(vocabulary)) {
    // A list of [token, score], whose ids are the places.
    for (const [id, entry] of vocabulary.entries()) yield [id, entry?.[0], "model.vocab"];
  } else if (typeof vocabulary === "object" && vocabulary !== null) {
    for (const token in vocabulary) yield [(vocabulary as Json)[token], token, "model.vocab"];
  }
  if (!Array.isArray(added)) return;
  for (const entry of added) yield [entry?.id, entry?.content, "added_tokens"];
}
