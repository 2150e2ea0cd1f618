import { pageTokens } from "../../kernels/attention/attention_shape.ts";

/** A page of the cache that holds keys of some sequences' tokens; they follow the tokens of its parent. */
export interface CachedPage {
  readonly page: number;
  readonly parent: CachedPage | null;
  /** Tokens whose keys it holds, at most `pageTokens`. A page is written at its end alone. */
  readonly tokens: readonly number[];
  /** Sequences that attend to it. */
  readonly users: number;
}

class Node implements CachedPage {
  readonly tokens: number[] = [];
  users = 1;
  readonly children = new Children();

  constructor(readonly page: number, readonly parent: Node | null) {}
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

  /** The page that begins with the most of the tokens from `at` to `end`. */
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
      if (length > (best?.length ?? 0)) best = { node, length };
    }
    return best;
  }
}

/** The beginning of a sequence as far as the cache has it. */
export interface CachedPrefix {
  /** Whole pages, the first of the sequence first. */
  readonly pages: readonly CachedPage[];
  /** A page that begins with the next `length` tokens, fewer than a page has. */
  readonly partial: { readonly page: CachedPage; readonly length: number } | null;
}

/**
 * Which page holds the keys of which tokens: a tree in which the pages from the root to a node hold a text
 * from its beginning, compared token by token. Pages that no sequence uses stay until they are needed, and
 * then the longest unused goes first.
 */
export class PageTree {
  readonly #roots = new Children();
  readonly #free: number[];
  /**
   * Pages without a user, the longest unused first. Whoever uses a page uses its parent and lets go of it
   * later, so that the first has no children.
   */
  readonly #idle = new Set<Node>();

  constructor(readonly pages: number) {
    this.#free = Array.from({ length: pages }, (_, page) => pages - 1 - page);
  }

  /** Pages that can be had: the free ones, and those that no sequence uses. */
  get available(): number {
    return this.#free.length + this.#idle.size;
  }

  /** The cached beginning of the first `count` tokens. */
  find(tokens: ArrayLike<number>, count: number): CachedPrefix {
    const pages: Node[] = [];
    let children = this.#roots;
    for (let at = 0; at < count; at += pageTokens) {
      const found = children.closest(tokens, at, count);
      if (found === null) break;
      const { node, length } = found;
      if (length < pageTokens) return { pages, partial: { page: node, length } };
      pages.push(node);
      children = node.children;
    }
    return { pages, partial: null };
  }

  /** Counts one more user of a page. A sequence that holds a page holds its parents. */
  hold(page: CachedPage): void {
    const node = page as Node;
    if (node.users++ === 0) this.#idle.delete(node);
  }

  /**
   * Counts one user fewer of these pages, given from the first to the last. The tokens they hold can be found
   * until the room is needed.
   */
  release(pages: readonly CachedPage[]): void {
    for (const page of pages.toReversed()) {
      const node = page as Node;
      if (node.users === 0) throw new Error(`page ${node.page} was released twice`);
      if (--node.users > 0) continue;
      if (node.tokens.length > 0) this.#idle.add(node);
      else this.#free.push(node.page);
    }
  }

  /**
   * An empty page after another, held once.
   *
   * @throws Error when none is available: callers ask first
   */
  allocate(parent: CachedPage | null): CachedPage {
    let page = this.#free.pop();
    if (page === undefined) {
      const [oldest] = this.#idle;
      if (!oldest) throw new Error("the cache has no page left");
      this.#idle.delete(oldest);
      this.#siblings(oldest).remove(oldest);
      page = oldest.page;
    }
    return new Node(page, parent as Node | null);
  }

  /** Says which tokens' keys are written next on a page that one sequence alone writes. */
  append(page: CachedPage, tokens: ArrayLike<number>, from: number, to: number): void {
    const node = page as Node;
    const isNew = node.tokens.length === 0;
    for (let at = from; at < to; at++) node.tokens.push(tokens[at]);
    if (node.tokens.length > pageTokens) throw new Error(`page ${node.page} is overfull`);
    if (isNew && to > from) this.#siblings(node).add(node);
  }

  #siblings({ parent }: Node): Children {
    return parent?.children ?? this.#roots;
  }
}
