import { Tokenizer } from "../../src/model/tokenizer/tokenizer.ts";

/** The token of a byte that is no character of the vocabulary. */
export const byte = (value: number) => `<0x${value.toString(16).toUpperCase().padStart(2, "0")}>`;
const pieces = ["<unk>", "</s>", ..."▁,▁The,▁man,ner,▁co,st,s,▁5,.,\n,▁▁,!".split(",")];
/** All tokens by their ids. */
export const vocabulary = [...pieces, ...Array.from({ length: 256 }, (_, value) => byte(value))];

/** The decoder of Llama 2's and Mistral's tokenizers: spaces as ▁, unknown characters as bytes, no space at the start. */
export const sentencePiece = Tokenizer.fromJson(
  {
    version: "1.0",
    added_tokens: [{ id: 1, content: "</s>", special: true, normalized: false }],
    normalizer: null,
    pre_tokenizer: null,
    post_processor: null,
    decoder: {
      type: "Sequence",
      decoders: [
        { type: "Replace", pattern: { String: "▁" }, content: " " },
        { type: "ByteFallback" },
        { type: "Fuse" },
        { type: "Strip", content: " ", start: 1, stop: 0 },
      ],
    },
    model: {
      type: "BPE",
      byte_fallback: true,
      unk_token: "<unk>",
      vocab: Object.fromEntries(vocabulary.map((token, id) => [token, id])),
      merges: [],
    },
  },
  { eos_token: "</s>", clean_up_tokenization_spaces: false },
  "tokenizer.json",
);
