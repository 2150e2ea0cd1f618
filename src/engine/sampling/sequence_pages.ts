import { pageTokens } from "../../kernels/attention/attention_shape.ts";
import type { CachedPrefix, PageTree } from "./page_tree.ts";
import type { Sequence } from "./sequence.ts";

/** The page on which another sequence has the next few tokens. */
export type PartialPage = NonNullable<CachedPrefix["partial"]>;

/**
 * Gives a waiting sequence its pages: those that hold its first tokens, and empty ones after them.
 *
 * @param count pages wanted in all
 * @returns what the cache has of it, with the partial page held until its rows are copied; null when there
 *   are too few pages
 */
export function takePages(
  tree: PageTree,
  sequence: Sequence,
  count: number,
): CachedPrefix | null {
  const { pages, partial } = tree.find(sequence.tokens, sequence.position);
  const held = partial ? [...pages, partial.page] : pages;
  for (const page of held) tree.hold(page);
  const wanted = count - pages.length;
  let found: CachedPrefix = { pages, partial };
  if (partial && tree.available < wanted) {
    // The partial page may be the very one that is missing.
    tree.release([partial.page]);
    found = { pages, partial: null };
  }
  if (tree.available < wanted) {
    tree.release(pages);
    return null;
  }
  sequence.pages = pages;
  addPages(tree, sequence, wanted);
  return found;
}

/** Adds empty pages to a sequence. */
export function addPages(tree: PageTree, sequence: Sequence, count: number): void {
  const pages = [...sequence.pages];
  for (let i = 0; i < count; i++) pages.push(tree.allocate(pages.at(-1) ?? null));
  sequence.pages = pages;
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
 * Rows of the cache that are copied while sequences are admitted. A row may be copied from one that is itself
 * copied in the same pass, so that each pair names the row that was computed.
 */
export class CopiedRows {
  readonly #origins = new Map<number, number>();

  /** @returns pairs (from, to) that copy the beginning of a page to rows from `row` */
  copy({ page: { page }, length }: PartialPage, row: number): [number, number][] {
    return Array.from({ length }, (_, i) => {
      const source = page * pageTokens + i;
      const from = this.#origins.get(source) ?? source;
      this.#origins.set(row + i, from);
      return [from, row + i];
    });
  }
}
