import { Tokenizer as HuggingFaceTokenizer } from "@huggingface/tokenizers";
import { UserError } from "../../base/user_error.ts";
import { tokenTexts } from "./token_texts.ts";

/** Special tokens that tokenizer_config.json may name. */
export type SpecialTokenName = "eos_token" | "bos_token" | "pad_token" | "unk_token";

/** Text to token ids and back, from Hugging Face's tokenizer.json. */
export class Tokenizer {
  readonly #tokenizer: HuggingFaceTokenizer;
  readonly #texts = new Map<number, string>();

  private constructor(
    /** Contents of tokenizer.json, as read; saved with a trained model. */
    readonly definition: Readonly<Record<string, unknown>>,
    /** Contents of tokenizer_config.json. */
    readonly settings: Readonly<Record<string, unknown>>,
  ) {
    this.#tokenizer = new HuggingFaceTokenizer(definition, settings);
  }

  /** @throws UserError when the definition is not one the library understands */
  static fromJson(
    definition: Readonly<Record<string, unknown>>,
    settings: Readonly<Record<string, unknown>>,
    file: string,
  ): Tokenizer {
    try {
      return new Tokenizer(definition, settings);
    } catch (cause) {
      throw new UserError(`${file} is not a usable tokenizer: ${cause}`);
    }
  }

  /** Tokens that mark structure and that decoding leaves out, the longest texts first. */
  get specialTokens(): { readonly id: number; readonly content: string }[] {
    const { added_tokens } = this.definition;
    if (!Array.isArray(added_tokens)) return [];
    return added_tokens
      .filter(({ special, content, id }) =>
        special === true && typeof content === "string" && content !== "" && Number.isInteger(id)
      )
      .map(({ id, content }) => ({ id, content }))
      .sort((a, b) => b.content.length - a.content.length);
  }

  /** Token ids of `text`; special tokens come only from the text itself. */
  encode(text: string): Uint32Array {
    return Uint32Array.from(this.#tokenizer.encode(text, { add_special_tokens: false }).ids);
  }

  /** Text of `ids`, special tokens left out. */
  decode(ids: ArrayLike<number>): string {
    if (ids.length === 0) return "";
    return this.#tokenizer.decode(Array.from(ids), { skip_special_tokens: true });
  }

  /**
   * The text each token adds; joined, they are exactly `decode(ids)`. This is what maps a character of
   * the text to the token it came from without tokenising again.
   */
  decodeEach(ids: ArrayLike<number>): string[] {
    const alone = Array.from(ids, (id) => this.#textOf(id));
    const whole = this.decode(ids);
    if (alone.join("") === whole) return alone;
    // Tokens whose text depends on their neighbours: bytes inside a character, leading spaces.
    const special = new Set(this.specialTokens.map(({ id }) => id));
    const kept = Array.from(ids).filter((id) => !special.has(id));
    const texts = tokenTexts(kept, whole, (part) => this.decode(part));
    let next = 0;
    return Array.from(ids, (id) => special.has(id) ? "" : texts[next++]);
  }

  #textOf(id: number): string {
    let text = this.#texts.get(id);
    if (text === undefined) {
      text = this.decode([id]);
      this.#texts.set(id, text);
    }
    return text;
  }

  /**
   * The id of a special token named in tokenizer_config.json (`eos_token`, `bos_token`, `pad_token`).
   *
   * @returns null when the tokenizer has none
   */
  specialToken(name: SpecialTokenName): number | null {
    const text = this.specialText(name);
    return text === null ? null : this.#tokenizer.token_to_id(text) ?? null;
  }

  /** The text of a special token named in tokenizer_config.json, or null when it has none. */
  specialText(name: SpecialTokenName): string | null {
    const value = this.settings[name];
    return typeof value === "string"
      ? value
      : (value as { content?: string } | null | undefined)?.content ?? null;
  }
}
