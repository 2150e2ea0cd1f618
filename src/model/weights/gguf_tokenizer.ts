import { UserError } from "../../base/user_error.ts";
import type { GgufFile } from "./gguf_file.ts";
import { Tokenizer } from "../tokenizer/tokenizer.ts";

type Json = Readonly<Record<string, unknown>>;

/** `tokenizer.ggml.token_type` */
export const tokenTypes = {
  normal: 1,
  unknown: 2,
  control: 3,
  userDefined: 4,
  unused: 5,
  byte: 6,
} as const;

const byteLevel = (useRegex: boolean) => ({
  type: "ByteLevel",
  add_prefix_space: false,
  trim_offsets: true,
  use_regex: useRegex,
});

/** Text cut by a pattern before its bytes are merged, as tiktoken's tokenizers do. */
const splitThenBytes = (pattern: string) => ({
  type: "Sequence",
  pretokenizers: [
    { type: "Split", pattern: { Regex: pattern }, behavior: "Isolated", invert: false },
    byteLevel(false),
  ],
});

const ends = "(?i:'s|'t|'re|'ve|'m|'ll|'d)";

const spaces = "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";

/** Words of letters of any case, and so many digits at a time. */
const words = (digits: string) =>
  splitThenBytes(
    `${ends}|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|${digits}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|${spaces}`,
  );

/** Words of letters and the marks that combine with them. */
const markedWords = (digits: string) =>
  splitThenBytes(
    `${ends}|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|${digits}` +
      `| ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|${spaces}`,
  );

/** Words that begin where small letters are followed by capital ones. */
const casedWords = (digits: string, end: string) => {
  const upper = "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]";
  const lower = "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]";
  const first = "[^\\r\\n\\p{L}\\p{N}]?";
  return splitThenBytes(
    `${first}${upper}*${lower}+${end}|${first}${upper}+${lower}*${end}|${digits}` +
      `| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|${spaces}`,
  );
};

/** Digits one by one, then GPT-2's way. */
const singleDigits = {
  type: "Sequence",
  pretokenizers: [{ type: "Digits", individual_digits: true }, byteLevel(true)],
};

/** How text is cut before its bytes are merged, by `tokenizer.ggml.pre`. */
export const preTokenizers: Readonly<Record<string, Json>> = {
  "default": byteLevel(true),
  "gpt-2": byteLevel(true),
  "smollm": singleDigits,
  // Granite's
  "refact": singleDigits,
  "llama-bpe": words("\\p{N}{1,3}"),
  // SmolLM3's
  "smaug-bpe": words("\\p{N}{1,3}"),
  "lfm2": words("\\p{N}{1,3}"),
  "qwen2": words("\\p{N}"),
  "qwen35": markedWords("\\p{N}"),
  // Phi-4-mini's
  "gpt-4o": casedWords("\\p{N}{1,3}", `${ends}?`),
  // Mistral's since Nemo
  "tekken": casedWords("\\p{N}", ""),
};

/** Whether letters and their marks are composed before a text is cut. */
export const composes = (pre: string) => ["qwen2", "qwen35"].includes(pre);

/** Whether a word that is a token is taken as that token, whatever its merges say. */
export const ignoresMerges = (pre: string) => ["llama-bpe", "lfm2", "tekken"].includes(pre);

/**
 * The tokenizer a GGUF file carries, in the form of Hugging Face's tokenizer.json.
 *
 * @throws UserError when it is of a kind that is not known, or its parts do not fit together
 */
export function ggufTokenizer({ path, metadata }: GgufFile): Tokenizer {
  const key = (name: string) => metadata[`tokenizer.ggml.${name}`];
  const strings = (name: string): string[] => {
    const value = key(name);
    if (!Array.isArray(value) || value.some((item) => typeof item !== "string")) {
      throw new UserError(`${path}: tokenizer.ggml.${name} is missing or no list of texts`);
    }
    return value;
  };
  const tokens = strings("tokens");
  const types = Array.isArray(key("token_type")) ? key("token_type") as number[] : [];
  const special = (name: string): string | null => {
    const id = key(`${name}_token_id`);
    return typeof id === "number" ? tokens[id] ?? null : null;
  };
  const model = key("model");
  let definition: Json;
  if (model === "gpt2") {
    const pre = String(key("pre") ?? "default");
    const preTokenizer = preTokenizers[pre];
    if (!preTokenizer) {
      throw new UserError(
        `${path}: tokenizer.ggml.pre is ${JSON.stringify(pre)}; supported: ${
          Object.keys(preTokenizers).join(", ")
        }. Use the model's Hugging Face folder.`,
      );
    }
    definition = {
      normalizer: composes(pre) ? { type: "NFC" } : null,
      pre_tokenizer: preTokenizer,
      decoder: byteLevel(true),
      model: bytePairs(tokens, strings("merges"), {
        byte_fallback: false,
        ignore_merges: ignoresMerges(pre),
      }),
    };
  } else if (model === "llama") {
    definition = sentencePieces(
      tokens,
      types,
      key("scores"),
      key("add_space_prefix") !== false,
      path,
    );
  } else {
    throw new UserError(
      `${path}: tokenizer.ggml.model is ${
        JSON.stringify(model)
      }; supported: gpt2, llama. Use the ` +
        `model's Hugging Face folder.`,
    );
  }
  const added = tokens.flatMap((content, id) =>
    types[id] === tokenTypes.control || types[id] === tokenTypes.userDefined
      ? [{
        id,
        content,
        single_word: false,
        lstrip: false,
        rstrip: false,
        normalized: false,
        special: types[id] === tokenTypes.control,
      }]
      : []
  );
  const template = metadata["tokenizer.chat_template"];
  const addsBos = key("add_bos_token");
  return Tokenizer.fromJson(
    {
      version: "1.0",
      truncation: null,
      padding: null,
      added_tokens: added,
      post_processor: null,
      ...definition,
    },
    {
      tokenizer_class: "PreTrainedTokenizerFast",
      bos_token: special("bos"),
      eos_token: special("eos"),
      pad_token: special("padding"),
      unk_token: special("unknown"),
      clean_up_tokenization_spaces: false,
      ...(typeof addsBos === "boolean" ? { add_bos_token: addsBos } : {}),
      ...(typeof template === "string" ? { chat_template: template } : {}),
    },
    path,
  );
}

/** Other tokens than `eos_token` that end a response: the end of a turn, where the file names one. */
export function ggufStopTokens({ metadata }: GgufFile): number[] {
  return ["eos", "eot", "eom"].flatMap((name) => {
    const id = metadata[`tokenizer.ggml.${name}_token_id`];
    return typeof id === "number" ? [id] : [];
  });
}

function bytePairs(
  tokens: readonly string[],
  merges: readonly (string | readonly [string, string])[],
  options: Json,
): Json {
  return {
    type: "BPE",
    dropout: null,
    unk_token: null,
    continuing_subword_prefix: null,
    end_of_word_suffix: null,
    fuse_unk: false,
    ...options,
    vocab: Object.fromEntries(tokens.map((token, id) => [token, id])),
    merges,
  };
}

/**
 * SentencePiece's byte-pair model: the file has scores instead of merges. Every way to put a piece
 * together from two others is a merge, in the order of the pieces' scores.
 */
function sentencePieces(
  tokens: readonly string[],
  types: readonly number[],
  scores: unknown,
  addPrefix: boolean,
  path: string,
): Json {
  if (!Array.isArray(scores) || scores.length !== tokens.length) {
    throw new UserError(`${path}: tokenizer.ggml.scores does not have one number for each token`);
  }
  const idOf = new Map(tokens.map((token, id) => [token, id]));
  const merges: { pair: [string, string]; score: number; left: number; right: number }[] = [];
  tokens.forEach((token, id) => {
    if ((types[id] ?? tokenTypes.normal) !== tokenTypes.normal) return;
    for (let cut = 1; cut < token.length; cut++) {
      const pair: [string, string] = [token.slice(0, cut), token.slice(cut)];
      const left = idOf.get(pair[0]), right = idOf.get(pair[1]);
      if (left === undefined || right === undefined) continue;
      merges.push({ pair, score: scores[id], left, right });
    }
  });
  merges.sort((a, b) => b.score - a.score || a.left - b.left || a.right - b.right);
  const marks = { type: "Replace", pattern: { String: " " }, content: "▁" };
  return {
    normalizer: {
      type: "Sequence",
      normalizers: [...(addPrefix ? [{ type: "Prepend", prepend: "▁" }] : []), marks],
    },
    pre_tokenizer: null,
    decoder: {
      type: "Sequence",
      decoders: [
        { type: "Replace", pattern: { String: "▁" }, content: " " },
        { type: "ByteFallback" },
        { type: "Fuse" },
        ...(addPrefix ? [{ type: "Strip", content: " ", start: 1, stop: 0 }] : []),
      ],
    },
    model: bytePairs(tokens, merges.map(({ pair }) => pair), {
      unk_token: tokens[types.indexOf(tokenTypes.unknown)] ?? null,
      fuse_unk: true,
      byte_fallback: true,
      ignore_merges: false,
    }),
  };
}
