import { UserError } from "../base/user_error.ts";
import type { ChatMessage, ChatTemplate } from "../model/tokenizer/chat_template.ts";
import type { LoadedModel } from "../model/weights/model_folder.ts";
import { TextStream } from "../model/tokenizer/text_stream.ts";
import { withTurnEnd } from "../model/tokenizer/stop_tokens.ts";
import { pagesFor } from "./sampling/kv_cache.ts";
import type { Response, SampledTokens, Sampling } from "./sampling/request.ts";
import { Sampler } from "./sampling/sampler.ts";

/** How replies are drawn. */
export interface ReplyOptions {
  readonly sampling: Omit<Sampling, "step">;
  /** Tokens after which a reply is cut off. */
  readonly maximumReply: number;
  /** Tokens that the conversation may have with the reply, as far as the model's positions go. */
  readonly context: number;
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

/** Tokens that the cache has room for at first. */
const firstCacheTokens = 1024;

/**
 * A conversation with a model, of which each turn sees all before it; what earlier turns have left in the
 * cache is not computed again. Close it.
 */
export class Conversation {
  readonly #messages: ChatMessage[] = [];
  readonly #stopTokens: readonly number[];
  #sampler: Sampler | null = null;
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
   * @throws UserError when the conversation has become too long; it is then as before
   */
  async say(content: string, onText: (piece: string) => void): Promise<Reply> {
    const { tokenizer } = this.loaded;
    const messages: ChatMessage[] = [...this.#messages, { role: "user", content }];
    const prompt = tokenizer.encode(this.template.render(messages));
    const room = this.#context - prompt.length;
    if (room < 1) {
      throw new UserError(
        `The conversation has ${prompt.length} tokens of the ${this.#context} that it may have: there ` +
          `is no room for a reply. Begin a new one.`,
      );
    }
    const stream = new TextStream(tokenizer);
    const show = ({ tokens }: SampledTokens) => {
      const text = Array.from(tokens, (token) => stream.append(token)).join("");
      if (text !== "") onText(text);
    };
    const response = await this.#reply(prompt, Math.min(this.options.maximumReply, room), show);
    const text = tokenizer.decode(response.tokens);
    const rest = stream.end();
    if (rest !== "") onText(rest);
    this.#turn++;
    this.#messages.push({ role: "user", content }, { role: "assistant", content: text });
    return { text, tokens: response.tokens.length, finished: response.end.reason !== "length" };
  }

  /** The end of the longest conversation, as far as the GPU's memory is concerned; for a plan of it. */
  async rehearse(): Promise<void> {
    await this.#reply(new Uint32Array(this.#context - 1), 1, () => {});
  }

  /** Returns the GPU memory. */
  close(): void {
    this.#sampler?.close();
    this.#sampler = null;
  }

  get #context(): number {
    return Math.min(this.options.context, this.loaded.model.config.maxPositions);
  }

  async #reply(
    prompt: Uint32Array,
    maximumResponse: number,
    onTokens: (next: SampledTokens) => void,
  ): Promise<Response> {
    const sampler = this.#samplerFor(pagesFor(prompt.length + maximumResponse));
    let response: Response | null = null;
    sampler.add({
      ...this.options.sampling,
      step: this.#turn,
      prompt,
      sequenceId: 0,
      maximumResponse,
      stopTokens: this.#stopTokens,
      listener: { tokens: onTokens, end: (ended) => response = ended },
    });
    while (await sampler.step());
    if (response === null) throw new Error("a reply without an end");
    return response;
  }

  /** A sampler with so many pages or more; twice as many as before when those are too few. */
  #samplerFor(pages: number): Sampler {
    const before = this.#sampler?.options.pages ?? 0;
    if (this.#sampler && before >= pages) return this.#sampler;
    this.close();
    const most = pagesFor(this.#context);
    const enough = Math.max(pages, 2 * before, pagesFor(firstCacheTokens));
    return this.#sampler = new Sampler(this.loaded.model, {
      slots: 1,
      stepsBetweenReadbacks: tokensPerPiece,
      pages: Math.min(enough, most),
    });
  }
}
