import { pageTokens } from "../../kernels/attention/attention_shape.ts";
import { PagePool } from "./page_pool.ts";
import { firstPageSeen, type Reach } from "./reach.ts";

/** A page of the memory of a reach. */
export interface PagePlace {
  readonly page: number;
  /** Sequences that attend to it. */
  readonly users: number;
}

/** A page of text: some sequences' tokens, which follow those of its parent. */
export interface CachedPage {
  readonly parent: CachedPage | null;
  /** At most `pageTokens`, those of which something is written. A page is written at its end alone. */
  readonly tokens: readonly number[];
  /** Sequences whose text it is part of. */
  readonly users: number;
  /** By reach where that which its layers keep of the tokens lies; null where it does not lie anywhere any more, or yet. */
  readonly places: readonly (PagePlace | null)[];
}

class Place implements PagePlace {
  users = 1;

  constructor(readonly node: Node, readonly reach: number, readonly page: number) {}
}

class Node implements CachedPage {
  readonly tokens: number[] = [];
  users = 1;
  readonly children = new Children();
  readonly places: (Place | null)[];

  constructor(readonly parent: Node | null, reaches: number) {
    this.places = new Array<Place | null>(reaches).fill(null);
  }

  get isThere(): boolean {
    return this.places.every((place) => place !== null);
  }
}

/** Pages that may follow a page, found by their first token. */
class Children {
  readonly #byFirstToken = new Map<number, Set<Node>>();

  add(node: Node): void {
    const [first] = node.tokens;
    const siblings = this.#byFirstToken.get(first);
    if (siblings) siblings.add(node);
    else this.#byFirstToken.set(first, new Set([node]));
  }

  remove(node: Node): void {
    const [first] = node.tokens;
    const siblings = this.#byFirstToken.get(first);
    siblings?.delete(node);
    if (siblings?.size === 0) this.#byFirstToken.delete(first);
  }

  get isEmpty(): boolean {
    return this.#byFirstToken.size === 0;
  }

  /** The page that begins with the most of the tokens from `at` to `end`, of several one of which all reaches have memory. */
  closest(
    tokens: ArrayLike<number>,
    at: number,
    end: number,
  ): { node: Node; length: number } | null {
    let best: { node: Node; length: number } | null = null;
    for (const node of this.#byFirstToken.get(tokens[at]) ?? []) {
      const longest = Math.min(node.tokens.length, end - at);
      let length = 0;
      while (length < longest && node.tokens[length] === tokens[at + length]) length++;
      const isBetter = !best || length > best.length ||
        (length === best.length && node.isThere && !best.node.isThere);
      if (isBetter) best = { node, length };
    }
    return best;
  }
}

/** The beginning of a sequence as far as the cache has it. */
export interface CachedPrefix {
  /** Whole pages of its text, the first of the sequence first. */
  readonly pages: readonly CachedPage[];
  /** A page that begins with the next `length` tokens, fewer than a page has; null unless one can go on from there. */
  readonly partial: { readonly page: CachedPage; readonly length: number } | null;
  /** Tokens from which a sequence can go on: the cache has all that those after them look at. */
  readonly length: number;
}

/**
 * Which pages hold what of which tokens: a tree in which the pages of text from the root to a node are a text from its
 * beginning, compared token by token. Memory that no sequence uses stays as it is until it is needed, and then the longest
 * unused goes first.
 *
 * Of a reach that looks back to the beginning a text has memory for all of its pages or is forgotten. Of one with a
 * window it has memory where somebody has left it: one can go on from any token before which a window's pages are there.
 */
export class PageTree {
  readonly #roots = new Children();
  readonly #pools: readonly PagePool<Place>[];

  /** @param reaches of the layers, and how many pages each has */
  constructor(reaches: readonly { readonly reach: Reach; readonly pages: number }[]) {
    this.#pools = reaches.map(({ reach, pages }) => new PagePool<Place>(reach, pages));
  }

  /** Pages of a reach that can be had: the free ones, and those that no sequence uses. */
  available(reach: number): number {
    return this.#pools[reach].available;
  }

  /** The cached beginning of the first `count` tokens. */
  find(tokens: ArrayLike<number>, count: number): CachedPrefix {
    const pages: Node[] = [];
    let partial: { page: Node; length: number } | null = null;
    let children = this.#roots;
    for (let at = 0; at < count; at += pageTokens) {
      const found = children.closest(tokens, at, count);
      if (found === null) break;
      const { node, length } = found;
      if (length < pageTokens) {
        partial = { page: node, length };
        break;
      }
      pages.push(node);
      children = node.children;
    }
    const path = partial ? [...pages, partial.page] : pages;
    let length = pages.length * pageTokens + (partial?.length ?? 0);
    while (!this.#hasWindows(path, length)) {
      length = (Math.ceil(length / pageTokens) - 1) * pageTokens;
    }
    return { pages, partial: length > pages.length * pageTokens ? partial : null, length };
  }

  /** Whether of the first `length` tokens of a text all is there that the next token looks at. */
  #hasWindows(path: readonly Node[], length: number): boolean {
    return this.#pools.every(({ reach }, r) => {
      if (reach.window === null) return true;
      const seen = path.slice(firstPageSeen(reach, length), Math.ceil(length / pageTokens));
      return seen.every(({ places }) => places[r] !== null);
    });
  }

  /** Counts one more sequence whose text a page is part of. Who joins a page has joined its parents. */
  join(page: CachedPage): void {
    (page as Node).users++;
  }

  /** Counts one sequence fewer, which holds no memory of these pages any more, given from the first to the last. */
  leave(pages: readonly CachedPage[]): void {
    for (const page of pages.toReversed()) {
      const node = page as Node;
      if (node.users === 0) throw new Error("a page was left twice");
      node.users--;
      this.#prune(node);
    }
  }

  /** A page for the text after another, joined once, without memory. */
  extend(parent: CachedPage | null): CachedPage {
    return new Node(parent as Node | null, this.#pools.length);
  }

  /** Whether some sequence uses a page's memory. */
  isHeld(page: CachedPage, reach: number): boolean {
    return (page.places[reach]?.users ?? 0) > 0;
  }

  /**
   * Counts one more user of a page's memory. A sequence that holds a page's holds those of its parents that a reach looks
   * at from there.
   *
   * @returns whether the page had none and was given some, which the caller is to fill
   * @throws Error when none is available: callers ask first
   */
  hold(page: CachedPage, reach: number): boolean {
    const node = page as Node;
    const place = node.places[reach];
    const pool = this.#pools[reach];
    if (!place) {
      node.places[reach] = new Place(node, reach, pool.take((other) => this.#forget(other)));
      return true;
    }
    if (place.users++ === 0) pool.use(place);
    return false;
  }

  /**
   * Counts one user fewer. What is written there can be found until the room is needed. Of pages that look back to the
   * beginning the last goes first, so that the longest unused has none after it.
   *
   * @param isPassed the sequence goes on and does not look at it any more: it is needed sooner than others
   */
  letGo(page: CachedPage, reach: number, isPassed = false): void {
    const node = page as Node;
    const place = node.places[reach];
    if (!place || place.users === 0) throw new Error(`a page of reach ${reach} was released twice`);
    if (--place.users > 0) return;
    const pool = this.#pools[reach];
    if (node.tokens.length > 0) pool.keep(place, isPassed);
    else {
      node.places[reach] = null;
      pool.free(place);
    }
  }

  /** Says which tokens' keys are written next on a page that one sequence alone writes. */
  append(page: CachedPage, tokens: ArrayLike<number>, from: number, to: number): void {
    const node = page as Node;
    const isNew = node.tokens.length === 0;
    for (let at = from; at < to; at++) node.tokens.push(tokens[at]);
    if (node.tokens.length > pageTokens) throw new Error("a page is overfull");
    if (isNew && to > from) this.#siblings(node).add(node);
  }

  /** What lay in a place is overwritten. */
  #forget({ node, reach }: Place): void {
    node.places[reach] = null;
    if (this.#pools[reach].reach.window !== null) {
      this.#prune(node);
      return;
    }
    this.#siblings(node).remove(node);
    node.places.forEach((place, r) => {
      if (!place) return;
      node.places[r] = null;
      this.#pools[r].free(place);
    });
  }

  /** Takes pages of text out of the tree, from one towards the root, that nobody uses and of which nothing is kept. */
  #prune(last: Node): void {
    const isNothing = ({ users, children, places }: Node) =>
      users === 0 && children.isEmpty && places.every((place) => place === null);
    for (let node: Node | null = last; node && isNothing(node); node = node.parent) {
      this.#siblings(node).remove(node);
    }
  }

  #siblings({ parent }: Node): Children {
    return parent?.children ?? this.#roots;
  }
}
