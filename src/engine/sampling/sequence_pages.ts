import { pageTokens } from "../../kernels/attention/attention_shape.ts";
import type { CachedPage, CachedPrefix, PageTree } from "./page_tree.ts";
import { firstPageSeen, mostPagesHeld, type Reach } from "./reach.ts";
import type { Sequence } from "./sequence.ts";

/** The pages of a cache, and how its sequences use them. */
export interface PagedReaches {
  readonly tree: PageTree;
  readonly reaches: readonly Reach[];
  /** Tokens that a sequence is decoded by at a time, at most. */
  readonly steps: number;
}

/** A page on which another sequence has the next few tokens. */
export type PartialPage = NonNullable<CachedPrefix["partial"]>;

/**
 * Gives a waiting sequence its pages: those that hold its first tokens, and empty ones after them. Of a reach with a
 * window it holds what its first token that is not cached looks at; it takes the others while its tokens are computed,
 * and is refused where they would not suffice.
 *
 * @param count pages wanted in all
 * @returns what the cache has of it, with the partial page held until its rows are copied; null when there
 *   are too few pages
 */
export function takePages(
  paged: PagedReaches,
  sequence: Sequence,
  count: number,
): CachedPrefix | null {
  const { tokens, position } = sequence;
  const found = paged.tree.find(tokens, position);
  if (takeFound(paged, sequence, found, count)) return found;
  if (!found.partial) return null;
  // The partial page may be the very one that is missing.
  const whole = paged.tree.find(tokens, found.pages.length * pageTokens);
  return takeFound(paged, sequence, whole, count) ? whole : null;
}

function takeFound(
  paged: PagedReaches,
  sequence: Sequence,
  found: CachedPrefix,
  count: number,
): boolean {
  const { tree, reaches, steps } = paged;
  const { pages, partial, length } = found;
  for (const page of pages) tree.join(page);
  if (partial) holdPartial(paged, partial);
  // The log-probs of a prompt are computed from its first token on.
  const start = sequence.wantsPrompt ? 0 : length;
  sequence.pages = pages;
  sequence.held = reaches.map((reach, r) => {
    const range = reach.window === null
      ? { first: 0, end: pages.length }
      : { first: firstPageSeen(reach, start), end: Math.floor(start / pageTokens) };
    for (let p = range.first; p < range.end; p++) tree.hold(pages[p], r);
    return range;
  });
  const isEnough = reaches.every((reach, r) => {
    const { first, end } = sequence.held[r];
    const wanted = count - end;
    if (reach.window === null) return tree.available(r) >= wanted;
    // What it holds alone comes back when it is out of its window.
    const own = pages.slice(first, end).filter(({ places }) => places[r]?.users === 1).length;
    return tree.available(r) + own >= Math.min(wanted + own, mostPagesHeld(reach, steps));
  });
  if (isEnough) {
    addPages(paged, sequence, count);
    return true;
  }
  if (partial) letPartialGo(paged, partial);
  leavePages(paged, sequence);
  return false;
}

/** Keeps a page from being overwritten until its rows are copied. */
function holdPartial({ tree, reaches }: PagedReaches, { page }: PartialPage): void {
  tree.join(page);
  for (const r of reaches.keys()) tree.hold(page, r);
}

/** The rows of a page were copied, or will not be. */
export function letPartialGo({ tree, reaches }: PagedReaches, { page }: PartialPage): void {
  for (const r of reaches.keys()) tree.letGo(page, r);
  tree.leave([page]);
}

/** Adds empty pages to a sequence's text until there are `count`, with memory in reaches without a window. */
export function addPages(
  { tree, reaches }: PagedReaches,
  sequence: Sequence,
  count: number,
): void {
  const pages = [...sequence.pages];
  while (pages.length < count) pages.push(tree.extend(pages.at(-1) ?? null));
  sequence.pages = pages;
  sequence.held = sequence.held.map((range, r) => {
    if (reaches[r].window !== null) return range;
    for (let p = range.end; p < pages.length; p++) tree.hold(pages[p], r);
    return { ...range, end: pages.length };
  });
}

/**
 * Takes memory in a reach with a window for the pages of a sequence's text before `end`.
 *
 * @returns those that nobody had, which are to be filled
 */
export function holdPages(
  { tree }: PagedReaches,
  sequence: Sequence,
  reach: number,
  end: number,
): CachedPage[] {
  const range = sequence.held[reach];
  if (end <= range.end) return [];
  const taken = sequence.pages.slice(range.end, end).filter((page) => tree.hold(page, reach));
  sequence.held = sequence.held.map((other, r) => r === reach ? { ...other, end } : other);
  return taken;
}

/** Memory that a sequence has no use for any more, see `PageTree.letGo`. */
export interface PassedPage {
  readonly page: CachedPage;
  readonly reach: number;
  readonly isPassed: boolean;
}

/**
 * Takes from a sequence the memory that no token at `position` or after it looks at.
 *
 * @returns what the caller is to let go, once nothing reads it
 */
export function takePassed(
  { reaches }: PagedReaches,
  sequence: Sequence,
  position: number,
): PassedPage[] {
  const passed: PassedPage[] = [];
  sequence.held = sequence.held.map((range, reach) => {
    const first = firstPageSeen(reaches[reach], position);
    if (first <= range.first) return range;
    for (let p = range.first; p < Math.min(first, range.end); p++) {
      const isPassed = !sequence.isBranch(p, reaches[reach]);
      passed.push({ page: sequence.pages[p], reach, isPassed });
    }
    return { first, end: Math.max(first, range.end) };
  });
  return passed;
}

/** Returns all that a sequence holds. */
export function leavePages({ tree }: PagedReaches, sequence: Sequence): void {
  const { pages, held } = sequence;
  held.forEach(({ first, end }, r) => {
    for (let p = end - 1; p >= first; p--) tree.letGo(pages[p], r);
  });
  tree.leave(pages);
  sequence.pages = [];
  sequence.held = [];
}

/** Says which keys are written to a sequence's pages: those of its tokens from `first` to `end` - 1. */
export function fillPages(tree: PageTree, sequence: Sequence, first: number, end: number): void {
  for (let at = first; at < end;) {
    const page = Math.floor(at / pageTokens);
    const to = Math.min(end, (page + 1) * pageTokens);
    tree.append(sequence.pages[page], sequence.tokens, at, to);
    at = to;
  }
}

/**
 * Rows of a reach's cache that are copied in a pass. A row may be copied from one that is itself copied in the same pass,
 * so that each pair names the row that was computed.
 */
export class CopiedRows {
  readonly #origins = new Map<number, number>();

  /** @returns pairs (from, to) that copy the first `length` rows of a page to those from `row` on */
  copy(page: number, length: number, row: number): [number, number][] {
    return Array.from({ length }, (_, i) => {
      const source = page * pageTokens + i;
      const from = this.#origins.get(source) ?? source;
      this.#origins.set(row + i, from);
      return [from, row + i];
    });
  }
}
