import { pageTokens } from "../../kernels/attention/attention_shape.ts";
import type { Tokenizer } from "../../model/tokenizer/tokenizer.ts";
import { callAll } from "./call_all.ts";
import { pagesFor } from "./kv_cache.ts";
import { likeliestOf } from "./likeliest_tokens.ts";
import { StopStrings } from "./stop_strings.ts";
import type { CachedPage } from "./page_tree.ts";
import { firstPageSeen, type Reach } from "./reach.ts";
import type {
  PromptLogProbs,
  Response,
  ResponseEnd,
  SampledTokens,
  SampleRequest,
} from "./request.ts";

/** Pages `first` to `end` - 1 of a text. */
export interface PageRange {
  readonly first: number;
  readonly end: number;
}

/** A response in the making. */
export class Sequence {
  /** Prompt and response so far. */
  readonly tokens: number[];
  readonly logProbs: number[] = [];
  /** Likeliest tokens beside each token of the response, k (token, bits of its log-prob) each. */
  readonly #likeliest: Uint32Array[] = [];
  /** Log-probs of the prompt, once they were computed. */
  prompt: PromptLogProbs | null = null;
  readonly #stopStrings: StopStrings | null;
  /** The pages of its text, in its order, with room for the tokens to come; empty while it waits. */
  pages: readonly CachedPage[] = [];
  /** By reach of whose pages it holds the memory; none while it waits. */
  held: readonly PageRange[] = [];
  /** Number of its admission among all, those of sequences put back included; 0 while it waits. */
  admission = 0;
  /** Which of the states that layers keep of sequences is its own; nobody else's while it is admitted. */
  stateRow = 0;
  /** How often it was admitted. */
  #admitted = 0;
  #cachedTokens = 0;
  /** Tokens found in the cache when it was last admitted. */
  #found = 0;
  readonly #stopTokens: ReadonlySet<number>;
  /** Tokens that its listener was told. */
  #told = 0;

  /** @param tokenizer for its stop strings */
  constructor(
    readonly id: number,
    readonly request: SampleRequest,
    tokenizer: Pick<Tokenizer, "decode"> | null,
  ) {
    const { stopStrings = [] } = request;
    if (stopStrings.length > 0 && tokenizer === null) {
      throw new Error("stop strings need a sampler with a tokenizer");
    }
    this.#stopStrings = tokenizer && stopStrings.length > 0
      ? new StopStrings(tokenizer, stopStrings)
      : null;
    this.tokens = Array.from(request.prompt);
    this.#stopTokens = new Set(request.stopTokens);
  }

  /** Position of the last token, whose successor is decoded next and whose key is not in the cache yet. */
  get position(): number {
    return this.tokens.length - 1;
  }

  /** Tokens that may still come. */
  get remaining(): number {
    return this.request.maximumResponse - this.logProbs.length;
  }

  /** Pages that it takes at its longest. */
  get mostPages(): number {
    return pagesFor(this.request.prompt.length + this.request.maximumResponse);
  }

  /** Keys that it needs room for so that `steps` tokens are decoded and the next one can begin. */
  keysAfter(steps: number): number {
    return this.position + Math.min(steps + 1, this.remaining);
  }

  /**
   * The row of a reach's cache that holds the key of its token at a position.
   *
   * @throws Error when the sequence does not hold it
   */
  rowOf(position: number, reach = 0): number {
    const index = Math.floor(position / pageTokens);
    const place = this.pages[index]?.places[reach];
    const { first, end } = this.held[reach];
    if (!place || index < first || index >= end) throw new Error(`no row of position ${position}`);
    return place.page * pageTokens + position % pageTokens;
  }

  /** Which pages of a reach's cache hold its tokens, in the order of its text; any number for those that it does not hold. */
  pageNumbers(reach: number): number[] {
    const { first, end } = this.held[reach];
    return this.pages.map(({ places }, index) =>
      index >= first && index < end ? places[reach]?.page ?? 0 : 0
    );
  }

  /** Begins decoding, with so many of its keys found in the cache. */
  admit(admission: number, found: number, stateRow: number): void {
    this.admission = admission;
    this.stateRow = stateRow;
    this.#found = found;
    if (this.#admitted++ === 0) this.#cachedTokens = found;
  }

  /**
   * Whether a page is one that another sequence may well look at which begins with the same text: up to where the prompt
   * ends, whose last token it computes itself, or to where this one found the beginning that it goes on from.
   */
  isBranch(page: number, reach: Reach): boolean {
    return [this.request.prompt.length, this.#found].some((end) =>
      page >= firstPageSeen(reach, Math.max(0, end - 1)) && page < pagesFor(end)
    );
  }

  /** Whether the model is still to be asked about the prompt. */
  get wantsPrompt(): boolean {
    const { promptLogProbs = false, promptLikeliest = 0 } = this.request;
    return this.prompt === null && (promptLogProbs || promptLikeliest > 0);
  }

  /**
   * Takes a token.
   *
   * @param likeliest k (token, bits of its log-prob), when the request wants them
   * @returns why it is the last one, or null
   */
  append(token: number, logProb: number, likeliest: Uint32Array): ResponseEnd | null {
    this.tokens.push(token);
    this.logProbs.push(logProb);
    if (likeliest.length > 0) this.#likeliest.push(likeliest);
    if (this.#stopTokens.has(token)) return { reason: "stop token", token };
    const text = this.#stopStrings?.append(token) ?? null;
    if (text !== null) return { reason: "stop string", text };
    return this.remaining > 0 ? null : { reason: "length" };
  }

  /** Drops the prompt's log-probs, which newer weights make stale; they stay once a token was sampled after them. */
  forgetPrompt(): void {
    if (this.logProbs.length === 0) this.prompt = null;
  }

  /** Whether somebody who is told of each token has not been told of the first. */
  get awaitsFirst(): boolean {
    return this.request.listener.tokens !== undefined && this.logProbs.length === 0;
  }

  /** Tells its listener the tokens that it has not been told yet. */
  tellTokens(): void {
    const { listener } = this.request;
    if (!listener.tokens || this.#told === this.logProbs.length) return;
    const next = this.#sampledFrom(this.#told);
    this.#told = this.logProbs.length;
    listener.tokens(next);
  }

  /** Tells its listener that it has ended, and before that the tokens that are left. */
  tellEnd(end: ResponseEnd): void {
    const response = this.#response(end);
    callAll([() => this.tellTokens(), () => this.request.listener.end(response)]);
  }

  /** The response's tokens from the n-th on. */
  #sampledFrom(n: number): SampledTokens {
    const { prompt, likeliest: k = 0 } = this.request;
    return {
      tokens: Uint32Array.from(this.tokens.slice(prompt.length + n)),
      logProbs: Float32Array.from(this.logProbs.slice(n)),
      likeliest: k > 0 ? likeliestOf(k, this.#likeliest.slice(n)) : null,
    };
  }

  /** The ended response. */
  #response(end: ResponseEnd): Response {
    return {
      ...this.#sampledFrom(0),
      prompt: this.prompt,
      end,
      cachedTokens: this.#cachedTokens,
      timesPutBack: Math.max(0, this.#admitted - 1),
    };
  }
}
