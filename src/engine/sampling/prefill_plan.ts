import { noToken } from "../../kernels/sampling/decode_slots.ts";
import { pageTokens } from "../../kernels/attention/attention_shape.ts";
import { passPages } from "./cache_size.ts";
import { pagesFor } from "./kv_cache.ts";
import type { CachedPage, CachedPrefix } from "./page_tree.ts";
import type { Sequence } from "./sequence.ts";
import {
  CopiedRows,
  fillPages,
  holdPages,
  letPartialGo,
  type PagedReaches,
  type PartialPage,
  type PassedPage,
  takePassed,
} from "./sequence_pages.ts";

/** Where tokens of a sequence lie in the cache of a reach, while a pass computes them. */
export interface PrefillPlaces {
  /** The pages of its text; any number for those that the pass neither reads nor writes. */
  readonly pages: readonly number[];
  /** The row that each token of the pass fills; `noToken` where it is filled already. */
  readonly rows: readonly number[];
  /** Rows that are copied to others, (from, to), once those from which they come are written. */
  readonly copies: readonly (readonly [number, number])[];
}

/** A stretch of a sequence to compute before it is decoded. */
export interface Prefill {
  readonly sequence: Sequence;
  /** Positions `first` to `end` - 1 are computed. */
  readonly first: number;
  readonly end: number;
  /** Tokens of which passes before have made its state; 0 where it is still to begin. */
  readonly begun: number;
  /** By reach. */
  readonly places: readonly PrefillPlaces[];
}

/**
 * The passes that compute the first tokens of sequences, each of at most so many tokens; a pass may need what those before
 * it wrote. A sequence whose text is longer than a window takes the window's pages as it comes to them, `passPages` in a
 * pass at most, and those behind the window are another's from the next pass on.
 */
export class PrefillPlan {
  readonly #passes: Prefill[][] = [[]];
  #room: number;
  /** Memory that the last pass reads, and none after it. */
  #passed: PassedPage[] = [];
  #copied: readonly CopiedRows[];
  readonly #partials: PartialPage[] = [];

  /** @param maximum tokens of a pass, at least 1 */
  constructor(private readonly paged: PagedReaches, private readonly maximum: number) {
    this.#room = maximum;
    this.#copied = this.#newCopies();
  }

  /** Whether a new pass would find more memory than the last one. */
  get holdsPassed(): boolean {
    return this.#passed.length > 0;
  }

  /** Begins a pass, which may overwrite what the one before it read. */
  cut(): void {
    this.#passes.push([]);
    this.#room = this.maximum;
    this.#copied = this.#newCopies();
    this.#letPassedGo();
  }

  /**
   * Adds what is to be computed of a sequence that was given its pages, and gives it those that its first decoded tokens
   * need.
   *
   * @param found what `takePages` gave
   * @param count pages that it needs in all
   */
  add(sequence: Sequence, found: CachedPrefix, count: number): void {
    const { reaches, tree } = this.paged;
    const { pages: { length: whole }, partial } = found;
    if (partial) this.#partials.push(partial);
    // Of reaches without a window all whole pages that were found are written, of others those that somebody holds.
    const empty = reaches.map(() => new Set<CachedPage>(sequence.pages.slice(whole)));
    const copied = whole * pageTokens + (partial?.length ?? 0);
    const computed = sequence.wantsPrompt ? 0 : found.length;
    const isCopied = reaches.map(({ window }) =>
      partial !== null && (window === null || computed === copied)
    );
    fillPages(tree, sequence, whole * pageTokens, sequence.position);
    let first = computed, begun = 0;
    let copies = isCopied;
    do {
      if (first > computed) this.cut();
      const end = this.#endOf(sequence, first);
      reaches.forEach((reach, r) => {
        if (reach.window === null) return;
        for (const page of holdPages(this.paged, sequence, r, pagesFor(end))) empty[r].add(page);
      });
      const places = reaches.map((_, r): PrefillPlaces => ({
        pages: sequence.pageNumbers(r),
        rows: Array.from({ length: end - first }, (_, i) => {
          const position = first + i;
          const isWritten = !empty[r].has(sequence.pages[Math.floor(position / pageTokens)]) ||
            (isCopied[r] && position < copied);
          return isWritten ? noToken : sequence.rowOf(position, r);
        }),
        copies: copies[r] && partial ? this.#copy(partial, sequence, whole, r) : [],
      }));
      this.#passes[this.#passes.length - 1].push({ sequence, first, end, begun, places });
      this.#room -= end - first;
      this.#passed.push(...takePassed(this.paged, sequence, end));
      first = begun = end;
      copies = reaches.map(() => false);
    } while (first < sequence.position);
    this.#holdFirstWindow(sequence, count);
  }

  /** The passes; what was held for them is let go. */
  finish(): readonly (readonly Prefill[])[] {
    this.#letPassedGo();
    for (const partial of this.#partials) letPartialGo(this.paged, partial);
    this.#partials.length = 0;
    return this.#passes;
  }

  /** How far a pass computes a sequence from `first` on: the last one, or a new one if that has no room. */
  #endOf(sequence: Sequence, first: number): number {
    const { position } = sequence;
    if (first === position) return position;
    if (this.#room === 0) this.cut();
    const most = () => this.#withinMemory(sequence, Math.min(position, first + this.#mostTokens));
    let end = most();
    if (end <= first) {
      this.cut();
      end = most();
    }
    if (end <= first) throw new Error("a sequence was admitted to too small a cache");
    return end;
  }

  /** Tokens of a text that a pass may compute. */
  get #mostTokens(): number {
    const hasWindows = this.paged.reaches.some(({ window }) => window !== null);
    return hasWindows ? Math.min(this.#room, passPages * pageTokens) : this.#room;
  }

  /** The last of the positions up to `end` before which there is memory for all tokens. */
  #withinMemory({ pages, held }: Sequence, end: number): number {
    const { tree, reaches } = this.paged;
    return reaches.reduce((least, { window }, r) => {
      if (window === null) return least;
      let room = tree.available(r);
      let page = held[r].end;
      for (; page < pagesFor(least); page++) {
        if (!tree.isHeld(pages[page], r) && room-- === 0) break;
      }
      return Math.min(least, page * pageTokens);
    }, end);
  }

  #holdFirstWindow(sequence: Sequence, count: number): void {
    const { tree, reaches } = this.paged;
    reaches.forEach(({ window }, r) => {
      if (window === null) return;
      if (tree.available(r) < count - sequence.held[r].end && this.holdsPassed) this.cut();
      holdPages(this.paged, sequence, r, count);
    });
  }

  #copy({ page, length }: PartialPage, sequence: Sequence, to: number, reach: number) {
    const place = page.places[reach];
    if (!place) throw new Error("the rows to be copied were given away");
    return this.#copied[reach].copy(place.page, length, sequence.rowOf(to * pageTokens, reach));
  }

  #newCopies(): CopiedRows[] {
    return this.paged.reaches.map(() => new CopiedRows());
  }

  #letPassedGo(): void {
    for (const { page, reach, isPassed } of this.#passed) {
      this.paged.tree.letGo(page, reach, isPassed);
    }
    this.#passed = [];
  }
}
