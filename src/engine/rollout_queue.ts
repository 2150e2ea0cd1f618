import { type KvCache, pageTokens } from "./kv_cache.ts";

/** A prompt and the responses wanted to it. */
export interface RolloutRequest {
  readonly prompt: Uint32Array;
  /** One response for each; the random numbers of a response depend on its id alone. */
  readonly sequenceIds: readonly number[];
}

/** A sampled response. L tokens. */
export interface RolloutResponse {
  readonly sequenceId: number;
  /** [L], the stop token included when there was one */
  readonly tokens: Uint32Array;
  /** [L] log-probabilities under the sampling policy at its temperature */
  readonly logProbs: Float32Array;
  /** False when it was cut off at the maximum length. */
  readonly finished: boolean;
}

/** A response in the making. */
export interface Slot {
  /** Where the response belongs in the result. */
  readonly request: number;
  readonly place: number;
  readonly sequenceId: number;
  readonly pages: readonly number[];
  readonly tokens: number[];
  readonly logProbs: number[];
  /** The token whose successor is decoded next, and its position. */
  token: number;
  position: number;
  remaining: number;
}

/** Responses to one prompt that start together and share its prefill. */
interface Unit {
  readonly request: number;
  readonly prompt: Uint32Array;
  readonly firstPlace: number;
  readonly sequenceIds: readonly number[];
}

/** A prompt to prefill and the cache row of every one of its keys. */
export interface Prefill {
  /** The prompt without its last token, which is the first token decoded. */
  readonly tokens: Uint32Array;
  /** [token, cache row]: a shared page's keys go to one row, the last partial page's to one each. */
  readonly rows: readonly (readonly [number, number])[];
}

/** Pages that one response needs for a prompt and the longest response. */
export function pagesPerSequence(promptLength: number, maximumResponse: number): number {
  return Math.ceil((promptLength + maximumResponse) / pageTokens);
}

/** What the queue does with a cache: it hands out pages. */
export type PagePool = Pick<KvCache, "freePages" | "allocate" | "share" | "free">;

/** Decides which responses are decoded when, and which cache pages they use. */
export class RolloutQueue {
  readonly #waiting: Unit[] = [];
  /** The responses being decoded. */
  active: Slot[] = [];

  constructor(
    requests: readonly RolloutRequest[],
    private readonly cache: PagePool,
    private readonly slots: number,
    private readonly maximumResponse: number,
  ) {
    requests.forEach(({ prompt, sequenceIds }, request) => {
      for (let first = 0; first < sequenceIds.length; first += slots) {
        this.#waiting.push({
          request,
          prompt,
          firstPlace: first,
          sequenceIds: sequenceIds.slice(first, first + slots),
        });
      }
    });
  }

  get done(): boolean {
    return this.#waiting.length === 0 && this.active.length === 0;
  }

  /** Starts as many waiting responses as there is room for; returns the prompts to prefill. */
  admit(): Prefill[] {
    const prefills: Prefill[] = [];
    for (;;) {
      const unit = this.#waiting[0];
      if (!unit) return prefills;
      const { prompt, sequenceIds } = unit;
      const shared = Math.floor((prompt.length - 1) / pageTokens);
      const own = pagesPerSequence(prompt.length, this.maximumResponse) - shared;
      const room = this.active.length + sequenceIds.length <= this.slots &&
        this.cache.freePages >= shared + own * sequenceIds.length;
      if (!room) return prefills;
      this.#waiting.shift();
      prefills.push(this.#start(unit, shared, own));
    }
  }

  #start({ request, prompt, firstPlace, sequenceIds }: Unit, shared: number, own: number): Prefill {
    const sharedPages = Array.from({ length: shared }, () => this.cache.allocate());
    const last = prompt.length - 1;
    const rows: [number, number][] = [];
    for (let t = 0; t < shared * pageTokens; t++) {
      rows.push([t, sharedPages[Math.floor(t / pageTokens)] * pageTokens + t % pageTokens]);
    }
    sequenceIds.forEach((sequenceId, i) => {
      if (i > 0) { for (const page of sharedPages) this.cache.share(page); }
      const pages = [...sharedPages, ...Array.from({ length: own }, () => this.cache.allocate())];
      for (let t = shared * pageTokens; t < last; t++) {
        rows.push([t, pages[shared] * pageTokens + t % pageTokens]);
      }
      this.active.push({
        request,
        place: firstPlace + i,
        sequenceId,
        pages,
        tokens: [],
        logProbs: [],
        token: prompt[last],
        position: last,
        remaining: this.maximumResponse,
      });
    });
    return { tokens: prompt.subarray(0, last), rows };
  }

  /** Removes responses that have ended and frees their pages. */
  retire(ended: ReadonlySet<Slot>): void {
    for (const slot of ended) for (const page of slot.pages) this.cache.free(page);
    this.active = this.active.filter((slot) => !ended.has(slot));
  }
}
