import { Tokenizer } from "../../src/model/tokenizer/tokenizer.ts";

const special = ["<eos>", "<unk>", "<pad>", "<bos>"];
const characters = "9876543210zyxwvutsrqponmlkjihgfedcba CDEINORT_\\/{}<>:=+-*\n,.?";

/**
 * Merges that cut texts elsewhere than the embedded tasks' tags do: "step><" holds the end of one step and
 * the beginning of the next tag.
 */
const merges: readonly (readonly [string, string])[] = [
  ["s", "t"],
  ["e", "p"],
  ["st", "ep"],
  [">", "<"],
  ["step", "><"],
  ["<", "/"],
  ["t", "h"],
  ["n", "k"],
  ["i", "nk"],
  ["th", "ink"],
  ["a", "n"],
  ["an", "s"],
  ["ans", "w"],
  ["answ", "er"],
  ["e", "r"],
  ["b", "o"],
  ["x", "e"],
  ["xe", "d"],
  ["bo", "xed"],
  ["boxed", "{"],
  ["}", "</"],
  ["}", "."],
  [":", " "],
  [" ", "i"],
];

/** Number of tokens. */
export const mergedVocabularySize = special.length + characters.length + merges.length;

/**
 * A tokenizer of the same texts as the character vocabulary's with other tokens: other ids, tags that are
 * no tokens, and tokens of several characters.
 */
export function mergedTokenizer(): Tokenizer {
  const tokens = [...special, ...characters, ...merges.map((pair) => pair.join(""))];
  return Tokenizer.fromJson(
    {
      version: "1.0",
      truncation: null,
      padding: null,
      added_tokens: special.map((content, id) => ({
        id,
        content,
        single_word: false,
        lstrip: false,
        rstrip: false,
        normalized: false,
        special: true,
      })),
      normalizer: null,
      pre_tokenizer: null,
      post_processor: null,
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
        merges,
      },
    },
    {
      tokenizer_class: "PreTrainedTokenizerFast",
      pad_token: "<pad>",
      bos_token: "<bos>",
      eos_token: "<eos>",
      unk_token: "<unk>",
      clean_up_tokenization_spaces: false,
    },
    "the merged vocabulary",
  );
}
