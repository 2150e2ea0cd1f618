/**
 * The vocabulary of the embedded tasks as Hugging Face tokenizer files: one token per character, and one
 * per tag and judgment so that a tag is written or not, never half. 64 tokens, ids dense, `<pad>` is 0; a task's
 * own words come after them.
 */

const SPECIAL_TOKENS = ["<pad>", "<bos>", "<eos>", "<unk>"] as const;

const TAGS = [
  "<think>",
  "</think>",
  "<step>",
  "</step>",
  "<answer>",
  "</answer>",
  "<step_verification>",
  "</step_verification>",
  "<final_verification>",
  "</final_verification>",
  "\\boxed{",
  "CORRECT",
  "INCORRECT",
] as const;

const CHARACTERS = "}abcdefghijklmnopqrstuvwxyz0123456789:=+-* \n,.?";

/** One entry of `added_tokens` in tokenizer.json. */
export interface AddedToken {
  id: number;
  content: string;
  single_word: boolean;
  lstrip: boolean;
  rstrip: boolean;
  normalized: boolean;
  special: boolean;
}

/** The parts of tokenizer.json that a character vocabulary uses. */
export interface CharacterTokenizer {
  version: "1.0";
  truncation: null;
  padding: null;
  added_tokens: AddedToken[];
  normalizer: null;
  pre_tokenizer: null;
  post_processor: null;
  decoder: { type: "Fuse" };
  model: {
    type: "BPE";
    dropout: null;
    unk_token: string;
    continuing_subword_prefix: null;
    end_of_word_suffix: null;
    fuse_unk: false;
    byte_fallback: false;
    ignore_merges: false;
    vocab: Record<string, number>;
    merges: never[];
  };
}

/** All tokens of the vocabulary without a task's words; a token's place is its id. */
export const vocabularyTokens: readonly string[] = [...SPECIAL_TOKENS, ...TAGS, ...CHARACTERS];

/**
 * The contents of tokenizer.json: byte-pair encoding without merges, that is, characters.
 *
 * @param words texts of several characters that are one token each, after all others (`Task.words`)
 */
export function characterTokenizer(words: readonly string[] = []): CharacterTokenizer {
  const tokens = [...vocabularyTokens, ...words];
  const addedTokens = [...SPECIAL_TOKENS, ...TAGS, ...words].map((content) => {
    const id = tokens.indexOf(content);
    return {
      id,
      content,
      single_word: false,
      lstrip: false,
      rstrip: false,
      normalized: false,
      // Tags are text the parsers read, so decoding without special tokens must keep them.
      special: id < SPECIAL_TOKENS.length,
    };
  });
  return {
    version: "1.0",
    truncation: null,
    padding: null,
    added_tokens: addedTokens,
    normalizer: null,
    pre_tokenizer: null,
    post_processor: null,
    // This decoder joins tokens as they are; without one there would be a space between all of them.
    decoder: { type: "Fuse" },
    model: {
      type: "BPE",
      dropout: null,
      unk_token: "<unk>",
      continuing_subword_prefix: null,
      end_of_word_suffix: null,
      fuse_unk: false,
      byte_fallback: false,
      ignore_merges: false,
      vocab: Object.fromEntries(tokens.map((token, id) => [token, id])),
      merges: [],
    },
  };
}

/** The contents of tokenizer_config.json. */
export function characterTokenizerConfig() {
  return {
    tokenizer_class: "PreTrainedTokenizerFast",
    pad_token: "<pad>",
    bos_token: "<bos>",
    eos_token: "<eos>",
    unk_token: "<unk>",
    clean_up_tokenization_spaces: false,
  };
}
