import { UserError } from "../base/user_error.ts";
import type { ChatMessage, ChatTemplate } from "../model/tokenizer/chat_template.ts";
import type { LoadedModel } from "../model/weights/model_folder.ts";
import { TextStream } from "../model/tokenizer/text_stream.ts";
import { withTurnEnd } from "../model/tokenizer/stop_tokens.ts";
import { pagesFor } from "./sampling/kv_cache.ts";
import type { Response, SampledTokens, Sampling } from "./sampling/request.ts";
import { Sampler } from "./sampling/sampler.ts";

/** Replies that are judged before one is said. */
export interface ReplyChoice {
  /** Replies that are drawn each time, at least 1. */
  readonly count: number;
  /** Times that the best one is begun again, at most, from where it is found wrong; the best version is said. */
  readonly rewrites: number;
  /** What is thought of each reply to a message: the best is said, the first of equals. */
  judge(message: string, replies: readonly CandidateReply[]): Promise<readonly JudgedReply[]>;
}

/** A reply that may be said. L tokens. */
export interface CandidateReply {
  readonly text: string;
  /** [L] text of each token; joined they are `text` */
  readonly tokenTexts: readonly string[];
  /** [L] */
  readonly logProbs: Float32Array;
}

/** What is thought of a reply. */
export interface JudgedReply {
  /** How good it is. */
  readonly score: number;
  /** Its first tokens that are found right, where something after them is found wrong; null where nothing is. */
  readonly rightTokens: number | null;
}

/** How replies are drawn. */
export interface ReplyOptions {
  readonly sampling: Omit<Sampling, "step">;
  /** Null: one reply, told as it comes. */
  readonly choice: ReplyChoice | null;
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
  /** How good it was thought to be; null where there was no choice. */
  readonly score: number | null;
  /** Times that it was begun again to become what it is; 0 where that made nothing better. */
  readonly rewritten: number;
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
    const most = Math.min(this.options.maximumReply, room);
    const reply = this.options.choice === null
      ? await this.#told(prompt, most, onText)
      : await this.#chosen(content, prompt, most, this.options.choice);
    if (this.options.choice !== null) onText(reply.text);
    this.#turn++;
    this.#messages.push({ role: "user", content }, { role: "assistant", content: reply.text });
    return reply;
  }

  /** The end of the longest conversation, as far as the GPU's memory is concerned; for a plan of it. */
  async rehearse(): Promise<void> {
    const count = this.options.choice?.count ?? 1;
    await this.#sample(new Uint32Array(this.#context - 1), 1, { count });
  }

  /** Returns the GPU memory. */
  close(): void {
    this.#sampler?.close();
    this.#sampler = null;
  }

  get #context(): number {
    return Math.min(this.options.context, this.loaded.model.config.maxPositions);
  }

  /** One reply, told as it comes. */
  async #told(
    prompt: Uint32Array,
    maximumResponse: number,
    onText: (piece: string) => void,
  ): Promise<Reply> {
    const stream = new TextStream(this.loaded.tokenizer);
    const onTokens = ({ tokens }: SampledTokens) => {
      const text = Array.from(tokens, (token) => stream.append(token)).join("");
      if (text !== "") onText(text);
    };
    const [response] = await this.#sample(prompt, maximumResponse, { count: 1, onTokens });
    const rest = stream.end();
    if (rest !== "") onText(rest);
    return this.#asReply(response, null);
  }

  /** The best of several, begun again where it is found wrong; of its versions the best. */
  async #chosen(
    message: string,
    prompt: Uint32Array,
    maximumResponse: number,
    choice: ReplyChoice,
  ): Promise<Reply> {
    const responses = await this.#sample(prompt, maximumResponse, { count: choice.count });
    const judged = await choice.judge(message, responses.map((one) => this.#candidate(one)));
    const scores = judged.map(({ score }) => score);
    const best = scores.indexOf(Math.max(...scores));
    let version = responses[best], { score, rightTokens } = judged[best], rewritten = 0;
    let said = { version, score, rewritten };
    while (rightTokens !== null && rightTokens < maximumResponse && rewritten < choice.rewrites) {
      const kept = version.tokens.subarray(0, rightTokens);
      const [rest] = await this.#sample(
        Uint32Array.of(...prompt, ...kept),
        maximumResponse - kept.length,
        // The draws of another reply.
        { count: 1, firstId: choice.count + rewritten },
      );
      rewritten++;
      version = {
        ...rest,
        tokens: Uint32Array.of(...kept, ...rest.tokens),
        logProbs: Float32Array.of(...version.logProbs.subarray(0, kept.length), ...rest.logProbs),
      };
      [{ score, rightTokens }] = await choice.judge(message, [this.#candidate(version)]);
      if (score >= said.score) said = { version, score, rewritten };
    }
    return this.#asReply(said.version, said.score, said.rewritten);
  }

  #candidate({ tokens, logProbs }: Response): CandidateReply {
    const { tokenizer } = this.loaded;
    const tokenTexts = tokenizer.decodeEach(tokens);
    return { text: tokenizer.decode(tokens), tokenTexts, logProbs };
  }

  #asReply({ tokens, end }: Response, score: number | null, rewritten = 0): Reply {
    const text = this.loaded.tokenizer.decode(tokens);
    return { text, tokens: tokens.length, finished: end.reason !== "length", score, rewritten };
  }

  /** Replies to a prompt. @param drawn of which `firstId` tells the draws of the first from those of others */
  async #sample(
    prompt: Uint32Array,
    maximumResponse: number,
    { count, firstId = 0, onTokens }: {
      readonly count: number;
      readonly firstId?: number;
      /** Told those of the first reply as they come. */
      readonly onTokens?: (next: SampledTokens) => void;
    },
  ): Promise<Response[]> {
    const { sampling } = this.options;
    const sampler = this.#samplerFor(count * pagesFor(prompt.length + maximumResponse));
    const responses = new Array<Response>(count);
    let left = count;
    for (let place = 0; place < count; place++) {
      const sequenceId = firstId + place;
      const listener = {
        tokens: place === 0 ? onTokens : undefined,
        end: (ended: Response) => {
          responses[place] = ended;
          left--;
        },
      };
      sampler.add({
        ...sampling,
        ...{ step: this.#turn, prompt, sequenceId, maximumResponse, listener },
        stopTokens: this.#stopTokens,
      });
    }
    while (await sampler.step());
    if (left > 0) throw new Error(`${left} replies without an end`);
    return responses;
  }

  /** A sampler with so many pages or more; twice as many as before when those are too few. */
  #samplerFor(pages: number): Sampler {
    const before = this.#sampler?.options.pages ?? 0;
    if (this.#sampler && before >= pages) return this.#sampler;
    this.close();
    const slots = this.options.choice?.count ?? 1;
    const most = slots * pagesFor(this.#context);
    const enough = Math.max(pages, 2 * before, pagesFor(firstCacheTokens));
    return this.#sampler = new Sampler(this.loaded.model, {
      slots,
      stepsBetweenReadbacks: tokensPerPiece,
      pages: Math.min(enough, most),
    });
  }
}
