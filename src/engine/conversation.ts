import { UserError } from "../base/user_error.ts";
import type { ChatMessage, ChatTemplate } from "../model/tokenizer/chat_template.ts";
import type { LoadedModel } from "../model/weights/model_folder.ts";
import { withTurnEnd } from "../model/tokenizer/stop_tokens.ts";
import { generate, type Sampling } from "./rollout.ts";

/** How replies are drawn. */
export interface ReplyOptions {
  readonly sampling: Omit<Sampling, "step">;
  /** Tokens after which a reply is cut off. */
  readonly maximumReply: number;
}

/** A reply, whole. */
export interface Reply {
  readonly text: string;
  readonly tokens: number;
  /** False when it was cut off. */
  readonly finished: boolean;
}

/** Tokens decoded between two pieces of text that are shown. */
const tokensPerPiece = 4;

/** A conversation with a model, of which each turn sees all before it. */
export class Conversation {
  readonly #messages: ChatMessage[] = [];
  readonly #stopTokens: readonly number[];
  #turn = 0;

  /** @param system what the model is told first; null leaves that to its template */
  constructor(
    private readonly loaded: LoadedModel,
    private readonly template: ChatTemplate,
    private readonly system: string | null,
    private readonly options: ReplyOptions,
  ) {
    this.#stopTokens = withTurnEnd(loaded.stopTokens, template.turnEnd());
    this.clear();
  }

  /** Forgets all turns. */
  clear(): void {
    this.#messages.length = 0;
    if (this.system !== null) this.#messages.push({ role: "system", content: this.system });
  }

  /**
   * Says something and gets the reply.
   *
   * @param onText told each piece of the reply as it comes
   * @throws UserError when the conversation has become too long for the model; it is then as before
   */
  async say(content: string, onText: (piece: string) => void): Promise<Reply> {
    const { model, tokenizer } = this.loaded;
    const messages: ChatMessage[] = [...this.#messages, { role: "user", content }];
    const prompt = tokenizer.encode(this.template.render(messages));
    const room = model.config.maxPositions - prompt.length;
    if (room < 1) {
      throw new UserError(
        `The conversation has ${prompt.length} tokens and the model ${model.config.maxPositions} ` +
          `positions: there is no room for a reply. Begin a new one.`,
      );
    }
    const ids: number[] = [];
    let shown = "";
    const [[response]] = await generate(model, [{ prompt, sequenceIds: [0] }], {
      ...this.options.sampling,
      step: this.#turn,
      stopTokens: this.#stopTokens,
      maximumResponse: Math.min(this.options.maximumReply, room),
      slots: 1,
      stepsBetweenReadbacks: tokensPerPiece,
    }, (_request, _place, tokens) => {
      ids.push(...tokens);
      const text = tokenizer.decode(ids);
      // A character whose last bytes are still to come shows as a replacement character until then.
      if (text.endsWith("\ufffd") || !text.startsWith(shown)) return;
      onText(text.slice(shown.length));
      shown = text;
    });
    const text = tokenizer.decode(response.tokens);
    if (text.startsWith(shown) && text.length > shown.length) onText(text.slice(shown.length));
    this.#turn++;
    this.#messages.push({ role: "user", content }, { role: "assistant", content: text });
    return { text, tokens: response.tokens.length, finished: response.finished };
  }
}
