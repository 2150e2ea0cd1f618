import { pageTokens } from "../../kernels/attention/attention_shape.ts";
import type { Model } from "../../model/decoder/model.ts";
import type { Tokenizer } from "../../model/tokenizer/tokenizer.ts";
import { callAll } from "./call_all.ts";
import { checkRequest } from "./check_request.ts";
import { type DecodedWindow, decodeWindow } from "./decode_window.ts";
import { type CacheSize, type Held, openHeld, releaseHeld } from "./held_memory.ts";
import { mostPages, pagesFor } from "./kv_cache.ts";
import type { CachedPage } from "./page_tree.ts";
import { PromptReader } from "./prompt_log_probs.ts";
import { cutPrefills, type Prefill, prefill } from "./prefill.ts";
import type { ResponseEnd, SampleRequest } from "./request.ts";
import { Sequence } from "./sequence.ts";
import { addPages, CopiedRows, fillPages, takePages } from "./sequence_pages.ts";

/** How a sampler works; none of it shows in what is sampled. */
export interface SamplerOptions {
  /** Sequences decoded at once, at most. */
  readonly slots: number;
  /** Tokens decoded between two looks at what has ended, at most. */
  readonly stepsBetweenReadbacks: number;
  /**
   * Pages of the cache (of `pageTokens` tokens). By default as many as the slots need for the requests that
   * wait when the cache is taken, or as the device binds: a longer request that comes later waits until all
   * others have ended, and the cache is then taken anew, empty.
   */
  readonly pages?: number;
  /** The model's, for requests with stop strings. */
  readonly tokenizer?: Pick<Tokenizer, "decode">;
}

/** Tokens prefilled in one pass. */
const prefillTokens = 8192;

/**
 * Samples responses with continuous batching: requests come at any time, each with settings of its own, and
 * are decoded beside one another. A response's tokens and log-probs have the same bits whatever else is
 * sampled, whenever it came, in whatever order, and whether or not it was put back on the way.
 *
 * Pages of the cache are taken as they are needed. When there are none, requests wait, and the sequence that
 * was admitted last is put back and computed again later. Text whose keys are still in the cache is not
 * computed again.
 */
export class Sampler {
  /** Sequences that wait, in the order in which they will be admitted. */
  #waiting: Sequence[] = [];
  /** Admitted sequences, in the order of their admission. */
  #active: Sequence[] = [];
  #held: Held | null = null;
  /** Numbers that `expect` was told. */
  #expected = { responses: 0, pages: 0 };
  #nextId = 1;
  #admissions = 0;
  #stepping = false;
  #closed = false;

  constructor(readonly model: Model, readonly options: SamplerOptions) {}

  /** Sequences decoded at once, at most. */
  get slots(): number {
    return Math.min(this.options.slots, this.model.decodeSlots);
  }

  /** Whether any response is still to come. */
  get busy(): boolean {
    return this.#waiting.length + this.#active.length > 0;
  }

  /** Pages of the cache that no sequence has; null while it is not taken. */
  get availablePages(): number | null {
    return this.#held?.tree.available ?? null;
  }

  /**
   * Asks for a response.
   *
   * @returns a number for `abort`
   * @throws Error when it has stop strings and the sampler no tokenizer
   * @throws UserError when it cannot be had: its settings are out of range, or prompt and response are
   *   longer than the model's positions, the cache, or what the device binds of one
   */
  add(request: SampleRequest): number {
    if (this.#closed) throw new Error("the sampler is closed");
    checkRequest(request, this.model.config, this.options.pages ?? mostPages(this.model));
    const id = this.#nextId++;
    this.#waiting.push(new Sequence(id, request, this.options.tokenizer ?? null));
    return id;
  }

  /**
   * Takes the memory at once for responses that will be asked for one after another, until it is returned.
   *
   * @param responses how many there will be
   * @param tokens of the longest with its prompt
   */
  expect(responses: number, tokens: number): void {
    this.#expected = { responses, pages: pagesFor(tokens) };
  }

  /** Ends a response where it is; its listener is told. Of one that has ended nothing is done. */
  abort(id: number): void {
    const sequence = [...this.#active, ...this.#waiting].find((one) => one.id === id);
    if (!sequence) return;
    this.#remove(sequence);
    sequence.tellEnd({ reason: "aborted" });
  }

  /**
   * Admits what there is room for, decodes `stepsBetweenReadbacks` tokens of everything admitted, and tells
   * the listeners.
   *
   * @returns whether any response is still to come
   * @throws what a listener or the tokenizer throws, after all were told; a response whose text cannot be
   *   searched for stop strings ends as aborted
   */
  async step(): Promise<boolean> {
    if (this.#stepping) throw new Error("the sampler is stepping already");
    if (!this.busy) return false;
    this.#stepping = true;
    let tell: (() => void)[];
    try {
      let held: Held;
      for (;;) {
        held = this.#hold();
        this.#grow(held);
        await this.#admit(held);
        if (!this.#isStale(held)) break;
        // The weights changed while prompts were read.
        for (const sequence of this.#active) sequence.forgetPrompt();
      }
      // Every sequence may have been aborted by now, or be wanted for its prompt alone.
      const decoded = this.#active.filter(({ remaining }) => remaining > 0);
      tell = decoded.length === 0
        ? []
        : this.#take(held, await decodeWindow(this.model, held, decoded, this.#steps));
      tell.push(...this.#takeRead());
    } catch (error) {
      // The cache's contents are not known any more.
      this.#release();
      throw error;
    } finally {
      this.#stepping = false;
      if (this.#closed) this.#release();
    }
    callAll(tell);
    return this.busy;
  }

  /**
   * Returns the GPU memory until the next step, which takes it again: between two phases of a run it serves
   * others. What is being decoded is put back.
   */
  release(): void {
    if (this.#stepping) throw new Error("the sampler is stepping");
    this.#expected = { responses: 0, pages: 0 };
    this.#release();
  }

  #release(): void {
    this.#putBack(this.#active.length);
    if (this.#held) releaseHeld(this.#held);
    this.#held = null;
  }

  /** Ends all responses and returns the GPU memory for good; in the midst of a step, when that is done. */
  close(): void {
    this.#closed = true;
    const left = [...this.#active, ...this.#waiting];
    for (const sequence of left) this.#letGo(sequence);
    this.#active = [];
    this.#waiting = [];
    if (!this.#stepping) this.#release();
    callAll(left.map((sequence) => () => sequence.tellEnd({ reason: "aborted" })));
  }

  /** Whether the cache holds what other weights have made. */
  #isStale({ weightsVersion }: Held): boolean {
    return weightsVersion !== this.model.weightsVersion;
  }

  /** The cache and the slots for what waits, empty when the weights have changed. */
  #hold(): Held {
    this.model.expectLive();
    const demand = this.#demand();
    const held = this.#held;
    const stale = held !== null && this.#isStale(held);
    const small = held !== null && this.#active.length === 0 &&
      (demand.pages > held.cache.pages || demand.pagesPerSlot > held.pagesPerSlot);
    if (stale || small) this.#release();
    return this.#held ??= openHeld(this.model, this.slots, this.#demand());
  }

  /** Pages for all that is to come, as far as slots and options go. */
  #demand(): CacheSize {
    const { pages } = this.options;
    if (pages !== undefined) {
      return { pages, pagesPerSlot: Math.min(pages, pagesFor(this.model.config.maxPositions)) };
    }
    const expected = this.#expected;
    const pagesPerSlot = this.#waiting.reduce(
      (most, { mostPages }) => Math.max(most, mostPages),
      Math.max(1, expected.pages),
    );
    const responses = Math.max(this.#waiting.length, expected.responses);
    const enough = Math.min(this.slots, responses) * pagesPerSlot;
    return { pages: Math.min(enough, mostPages(this.model)), pagesPerSlot };
  }

  /** Gives everything being decoded the pages for the next window, putting back whom there is none for. */
  #grow({ tree }: Held): void {
    for (let s = 0; s < this.#active.length; s++) {
      const sequence = this.#active[s];
      const wanted = this.#pagesWanted(sequence) - sequence.pages.length;
      while (s < this.#active.length && tree.available < wanted) this.#putBack(1);
      if (s < this.#active.length) addPages(tree, sequence, wanted);
    }
  }

  /** Steps of the next window: no more than are wanted, and one where somebody waits for a first token. */
  get #steps(): number {
    if (this.#active.some(({ awaitsFirst }) => awaitsFirst)) return 1;
    const wanted = this.#active.reduce((most, { remaining }) => Math.max(most, remaining), 0);
    return Math.min(this.options.stepsBetweenReadbacks, wanted);
  }

  #pagesWanted(sequence: Sequence): number {
    return pagesFor(sequence.keysAfter(this.options.stepsBetweenReadbacks));
  }

  /** Puts the sequences that were admitted last before those that wait. */
  #putBack(count: number): void {
    if (count === 0) return;
    const sequences = this.#active.splice(this.#active.length - count);
    for (const sequence of sequences) this.#letGo(sequence);
    this.#waiting.unshift(...sequences);
  }

  #letGo(sequence: Sequence): void {
    this.#held?.tree.release(sequence.pages);
    sequence.pages = [];
    sequence.admission = 0;
  }

  #remove(sequence: Sequence): void {
    const others = (list: Sequence[]) => list.filter((other) => other !== sequence);
    if (sequence.admission > 0) this.#active = others(this.#active);
    else this.#waiting = others(this.#waiting);
    this.#letGo(sequence);
  }

  /** Starts waiting sequences in their order while there is room, and computes their tokens so far. */
  async #admit({ cache, tree, pagesPerSlot }: Held): Promise<void> {
    const prefills: Omit<Prefill, "begun">[] = [];
    const sources: CachedPage[] = [];
    const copied = new CopiedRows();
    while (this.#waiting.length > 0 && this.#active.length < this.slots) {
      const [sequence] = this.#waiting;
      if (sequence.mostPages > pagesPerSlot) break;
      const found = takePages(tree, sequence, this.#pagesWanted(sequence));
      if (found === null) break;
      this.#waiting.shift();
      const stateRow = this.#freeStateRow();
      this.#active.push(sequence);
      const { pages, partial } = found;
      const whole = pages.length * pageTokens;
      const first = whole + (partial?.length ?? 0);
      sequence.admit(++this.#admissions, first, stateRow);
      if (partial) sources.push(partial.page);
      prefills.push({
        sequence,
        first: sequence.wantsPrompt ? 0 : first,
        written: first,
        end: sequence.position,
        copies: partial ? copied.copy(partial, sequence.rowOf(whole)) : [],
      });
      fillPages(tree, sequence, whole, sequence.position);
    }
    const most = Math.min(prefillTokens, this.model.tokensPerPass);
    const prompts = new PromptReader(this.model);
    for (const pass of cutPrefills(prefills, most)) prefill(this.model, cache, pass, prompts);
    for (const page of sources) tree.release([page]);
    await prompts.read(prefills.map(({ sequence }) => sequence));
  }

  /** The first state that no admitted sequence has. */
  #freeStateRow(): number {
    const taken = new Set(this.#active.map(({ stateRow }) => stateRow));
    let row = 0;
    while (taken.has(row)) row++;
    return row;
  }

  /** Ends those whose prompts were all that was wanted. @returns what the listeners are to be told */
  #takeRead(): (() => void)[] {
    const read = this.#active.filter(({ request }) => request.maximumResponse === 0);
    for (const sequence of read) this.#remove(sequence);
    return read.map((sequence) => () => sequence.tellEnd({ reason: "length" }));
  }

  /** Hands out the tokens of a window. @returns what the listeners are to be told */
  #take({ tree }: Held, window: DecodedWindow): (() => void)[] {
    return window.sequences.flatMap((sequence, s): (() => void)[] => {
      // The sequence was aborted while the window was decoded.
      if (sequence.admission === 0) return [];
      const { position: before } = sequence;
      let end: ResponseEnd | null;
      try {
        end = window.append(s);
      } catch (error) {
        this.#remove(sequence);
        const fail = () => {
          throw error;
        };
        return [() => sequence.tellEnd({ reason: "aborted" }), fail];
      }
      fillPages(tree, sequence, before, sequence.position);
      if (end === null) return [() => sequence.tellTokens()];
      this.#remove(sequence);
      return [() => sequence.tellEnd(end)];
    });
  }
}
