/** A tokenizer as the header of a GGUF file has it; `gguf_tokenizer.ts` reads it back. */

import { isDeepStrictEqual } from "../../platform/system/deep_equal.ts";
import { UserError } from "../../base/user_error.ts";
import { templateText } from "../tokenizer/chat_template.ts";
import type { Tokenizer } from "../tokenizer/tokenizer.ts";
import { composes, ignoresMerges, preTokenizers, tokenTypes } from "./gguf_tokenizer.ts";
import { ggufValue, type GgufValues } from "./gguf_writing.ts";

type Json = Readonly<Record<string, unknown>>;

/**
 * The keys `tokenizer.*` of a model's header.
 *
 * @param rows of the embedding; ids that no token has are filled up
 * @param stopTokens ids that end a response
 * @throws UserError where llama.cpp knows no such tokenizer
 */
export function tokenizerValues(
  tokenizer: Tokenizer,
  rows: number,
  stopTokens: readonly number[],
): GgufValues {
  const { definition, settings } = tokenizer;
  const model = definition.model as Json;
  if (model?.type !== "BPE") {
    throw new UserError(
      `A GGUF file holds tokenizers of byte pairs, and this model's is of type ${
        JSON.stringify(model?.type)
      }: llama.cpp could not read its texts. Leave --gguf out to export a Hugging Face folder.`,
    );
  }
  const isSentencePiece = model.byte_fallback === true;
  const merges = ((model.merges ?? []) as readonly (string | readonly string[])[])
    .map((merge) => typeof merge === "string" ? merge : merge.join(" "));
  const vocabulary = vocabularyOf(definition, rows, isSentencePiece);
  const template = templateText(settings.chat_template);
  const eos = tokenizer.specialToken("eos_token");
  const turnEnd = stopTokens.find((id) => id !== eos);
  return {
    "tokenizer.ggml.model": ggufValue.text(isSentencePiece ? "llama" : "gpt2"),
    "tokenizer.ggml.pre": ggufValue.text(isSentencePiece ? "default" : preOf(definition)),
    "tokenizer.ggml.tokens": ggufValue.texts(vocabulary.tokens),
    "tokenizer.ggml.token_type": ggufValue.wholes(vocabulary.types),
    ...(isSentencePiece
      ? {
        "tokenizer.ggml.scores": ggufValue.reals(scoresOf(vocabulary.tokens, merges)),
        "tokenizer.ggml.add_space_prefix": ggufValue.flag(hasSpacePrefix(definition)),
      }
      : { "tokenizer.ggml.merges": ggufValue.texts(merges) }),
    ...idValue("bos", tokenizer.specialToken("bos_token")),
    ...idValue("eos", eos),
    ...idValue("eot", turnEnd ?? null),
    ...idValue(
      "unknown",
      tokenizer.specialToken("unk_token") ?? vocabulary.types.indexOf(tokenTypes.unknown),
    ),
    ...idValue("padding", tokenizer.specialToken("pad_token")),
    "tokenizer.ggml.add_bos_token": ggufValue.flag(beginsWithBos(tokenizer)),
    ...(template === null ? {} : { "tokenizer.chat_template": ggufValue.text(template) }),
  };
}

const idValue = (name: string, id: number | null): GgufValues =>
  id === null || id < 0 ? {} : { [`tokenizer.ggml.${name}_token_id`]: ggufValue.whole(id) };

/** Each id's text and type; a text that is made up is of a type that no text becomes. */
function vocabularyOf(
  definition: Json,
  rows: number,
  isSentencePiece: boolean,
): { tokens: string[]; types: number[] } {
  const model = definition.model as Json;
  const tokens = Array.from({ length: rows }, (_, id) => `[PAD${id}]`);
  const types = Array.from<number>({ length: rows }).fill(tokenTypes.unused);
  for (const [token, id] of Object.entries(model.vocab as Record<string, number>)) {
    tokens[id] = token;
    types[id] = isSentencePiece && /^<0x[0-9A-F]{2}>$/.test(token)
      ? tokenTypes.byte
      : token === model.unk_token
      ? tokenTypes.unknown
      : tokenTypes.normal;
  }
  const added = (definition.added_tokens ?? []) as readonly {
    id: number;
    content: string;
    special?: boolean;
  }[];
  for (const { id, content, special } of added) {
    tokens[id] = content;
    if (types[id] === tokenTypes.unknown) continue;
    types[id] = special ? tokenTypes.control : tokenTypes.userDefined;
  }
  return { tokens, types };
}

/** A piece's score is higher the earlier it is merged; what no merge makes needs none. */
function scoresOf(tokens: readonly string[], merges: readonly string[]): number[] {
  const ranks = new Map<string, number>();
  merges.forEach((merge, rank) => {
    const piece = merge.replace(" ", "");
    if (!ranks.has(piece)) ranks.set(piece, rank);
  });
  return tokens.map((token) => -(ranks.get(token) ?? merges.length));
}

/** llama.cpp's name of how text is cut before its bytes are merged. */
function preOf(definition: Json): string {
  const cut = plain(definition.pre_tokenizer);
  const normalizer = (definition.normalizer ?? null) as Json | null;
  const isComposed = normalizer?.type === "NFC";
  const names = Object.entries(preTokenizers)
    .filter(([name, known]) =>
      isDeepStrictEqual(plain(known), cut) && isComposed === composes(name) &&
      ignoresMerges(name) === ((definition.model as Json).ignore_merges === true)
    )
    .map(([name]) => name);
  // "default" cuts otherwise in llama.cpp than what it has been read as.
  const pre = names.find((name) => name !== "default");
  if (pre !== undefined && (isComposed || normalizer === null)) return pre;
  throw new UserError(
    `This model's tokenizer cuts text as none does of which llama.cpp's name is known here (${
      Object.keys(preTokenizers).filter((name) => name !== "default").join(", ")
    }): a GGUF file could not say so. Leave --gguf out to export a Hugging Face folder.`,
  );
}

/** A pre-tokenizer without what makes no difference to tokens. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== "object" || value === null) return value;
  const { trim_offsets: _, ...kept } = value as Json;
  return Object.fromEntries(Object.entries(kept).map(([key, inner]) => [key, plain(inner)]));
}

/** Whether text begins as if a space were before it. */
function hasSpacePrefix({ normalizer, pre_tokenizer }: Json): boolean {
  const steps = (value: unknown, inner: string): readonly Json[] => {
    const { [inner]: several } = (value ?? {}) as Json;
    return Array.isArray(several) ? several : [(value ?? {}) as Json];
  };
  return steps(normalizer, "normalizers").some(({ type }) => type === "Prepend") ||
    steps(pre_tokenizer, "pretokenizers").some(({ type, prepend_scheme, add_prefix_space }) =>
      type === "Metaspace" &&
      (prepend_scheme === undefined ? add_prefix_space !== false : prepend_scheme !== "never")
    );
}

/** Whether the tokenizer puts its first token before every text. */
export function beginsWithBos(tokenizer: Tokenizer): boolean {
  const { definition: { post_processor }, settings } = tokenizer;
  if (typeof settings.add_bos_token === "boolean") return settings.add_bos_token;
  const bos = tokenizer.specialText("bos_token");
  const { processors = [post_processor] } = (post_processor ?? {}) as Json;
  return bos !== null && (processors as (Json | null)[]).some((processor) => {
    if (processor?.type !== "TemplateProcessing") return false;
    const first = (processor.single as readonly Json[])?.[0]?.SpecialToken as Json | undefined;
    return first?.id === bos;
  });
}
