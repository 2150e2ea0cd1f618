import { Tokenizer } from "../../../src/model/tokenizer/tokenizer.ts";
import { preTokenizers } from "../../../src/model/weights/gguf_tokenizer.ts";

/** A tokenizer of four tokens in the form that folders and GGUF files have. */
export const fewBytePairs = Tokenizer.fromJson(
  {
    version: "1.0",
    added_tokens: [{ id: 0, content: "<eos>", special: true }],
    normalizer: null,
    pre_tokenizer: preTokenizers["gpt-2"],
    post_processor: null,
    decoder: preTokenizers["gpt-2"],
    model: { type: "BPE", vocab: { "<eos>": 0, a: 1, b: 2, ab: 3 }, merges: [["a", "b"]] },
  },
  {
    tokenizer_class: "PreTrainedTokenizerFast",
    eos_token: "<eos>",
    chat_template: "{{ messages[-1].content }}",
  },
  "the test's tokenizer",
);
