import assert from "node:assert/strict";
import fc from "fast-check";
import { type CachedPage, PageTree } from "../../../src/engine/sampling/page_tree.ts";
import { CopiedRows } from "../../../src/engine/sampling/sequence_pages.ts";
import { pageTokens } from "../../../src/kernels/attention/attention_shape.ts";

/** A sequence as a sampler makes one: it holds pages, and writes the keys of its tokens. */
interface Holder {
  readonly tokens: number[];
  readonly pages: CachedPage[];
  /** Tokens whose keys are written. */
  written: number;
}

const whole = { window: null };

/** A tree of a reach that looks back to the beginning. */
const treeOf = (pages: number) => new PageTree([{ reach: whole, pages }]);

/** An empty page after another, held once. */
function allocate(tree: PageTree, parent: CachedPage | null): CachedPage {
  const page = tree.extend(parent);
  tree.hold(page, 0);
  return page;
}

function hold(tree: PageTree, pages: readonly CachedPage[]): void {
  for (const page of pages) {
    tree.join(page);
    tree.hold(page, 0);
  }
}

function release(tree: PageTree, pages: readonly CachedPage[]): void {
  for (const page of pages.toReversed()) tree.letGo(page, 0);
  tree.leave(pages);
}

/** Where its tokens lie. */
const numberOf = ({ places: [place] }: CachedPage) => place?.page ?? NaN;

/** What every page of the memory holds, kept beside the tree: the whole text up to each of its keys. */
type Memory = string[][];

function write(tree: PageTree, memory: Memory, holder: Holder, to: number): void {
  for (; holder.written < to; holder.written++) {
    const { tokens, pages, written } = holder;
    const index = Math.floor(written / pageTokens);
    if (index === pages.length) pages.push(allocate(tree, pages.at(-1) ?? null));
    const page = pages[index];
    if (written % pageTokens === 0) memory[numberOf(page)] = [];
    memory[numberOf(page)].push(tokens.slice(0, written + 1).join());
    tree.append(page, tokens, written, written + 1);
  }
}

/** Starts on what the tree has, checked against what the memory really holds. */
function start(tree: PageTree, memory: Memory, tokens: number[], room: number): Holder | null {
  const { pages, partial } = tree.find(tokens, tokens.length);
  pages.forEach((page, p) => {
    const whole = Array.from(
      { length: pageTokens },
      (_, i) => tokens.slice(0, p * pageTokens + i + 1).join(),
    );
    assert.deepEqual(memory[numberOf(page)], whole, "a whole page holds these tokens after these");
  });
  const at = pages.length * pageTokens;
  if (partial) {
    assert.ok(partial.length > 0 && partial.length < pageTokens);
    for (let i = 0; i < partial.length; i++) {
      assert.equal(memory[numberOf(partial.page)][i], tokens.slice(0, at + i + 1).join());
    }
  }
  hold(tree, pages);
  if (tree.available(0) < room - pages.length) {
    release(tree, pages);
    return null;
  }
  return { tokens, pages: [...pages], written: at };
}

const tokensOf = (seed: number, length: number) =>
  // Few different beginnings and a turn after some whole pages, so that texts share and part.
  Array.from({ length }, (_, t) => t < 40 ? seed % 2 : t < 70 ? seed % 3 : (seed * 7 + t) % 5);

Deno.test("page tree: no page is lost, held twice, or found with what it does not hold", () => {
  let found = 0;
  let refused = 0;
  const step = fc.record({
    kind: fc.constantFrom("start", "start", "write", "release"),
    which: fc.nat(20),
    length: fc.integer({ min: 1, max: 110 }),
  });
  fc.assert(
    fc.property(
      fc.integer({ min: 4, max: 14 }),
      fc.array(step, { maxLength: 60 }),
      (count, steps) => {
        const tree = treeOf(count);
        const memory: Memory = Array.from({ length: count }, () => []);
        const holders: Holder[] = [];
        for (const { kind, which, length } of steps) {
          const holder = holders[which % Math.max(1, holders.length)];
          if (kind === "start") {
            const tokens = tokensOf(which, length);
            const made = start(tree, memory, tokens, Math.ceil(length / pageTokens));
            if (made === null) refused++;
            else {
              found += made.written;
              write(tree, memory, made, length);
              holders.push(made);
            }
          } else if (!holder) continue;
          else if (kind === "write") {
            const to = Math.min(holder.written + length, holder.pages.length * pageTokens);
            while (holder.tokens.length < to) {
              holder.tokens.push(
                (which + holder.tokens.length) % 5,
              );
            }
            write(tree, memory, holder, to);
          } else {
            release(tree, holder.pages);
            holders.splice(holders.indexOf(holder), 1);
          }
          const held = new Set(holders.flatMap(({ pages }) => pages.map(numberOf)));
          assert.equal(tree.available(0), count - held.size, "what is not held can be had");
          for (const { pages } of holders) {
            for (const page of pages) {
              assert.equal(
                page.places[0]?.users,
                holders.filter((other) => other.pages.includes(page)).length,
              );
            }
            // Nobody else writes what somebody reads.
            assert.ok(pages.every((page, p) => p === 0 || page.parent === pages[p - 1]));
          }
          for (const { tokens, pages, written } of holders) {
            for (let t = 0; t < written; t++) {
              const row = memory[numberOf(pages[Math.floor(t / pageTokens)])][t % pageTokens];
              assert.equal(row, tokens.slice(0, t + 1).join(), "its keys are still there");
            }
          }
        }
        for (const { pages } of holders) release(tree, pages);
        assert.equal(tree.available(0), count);
        // All of them can be taken at once: none is lost.
        const pages = new Set(Array.from({ length: count }, () => numberOf(allocate(tree, null))));
        assert.equal(pages.size, count);
        assert.throws(() => allocate(tree, null), /no page left/);
      },
    ),
    { numRuns: 300, seed: 7 },
  );
  assert.ok(found > 1000 && refused > 50, "the steps must meet both");
});

Deno.test("page tree: the longest unused goes first, the end of a text before its beginning", () => {
  const tree = treeOf(4);
  const memory: Memory = Array.from({ length: 4 }, () => []);
  const text = (first: number) => Array.from({ length: 64 }, (_, t) => t === 0 ? first : t);
  const holders = [1, 2].map((first) => {
    const holder: Holder = { tokens: text(first), pages: [], written: 0 };
    write(tree, memory, holder, 64);
    return holder;
  });
  release(tree, holders[1].pages);
  release(tree, holders[0].pages);
  assert.equal(tree.available(0), 4);
  allocate(tree, null);
  assert.equal(tree.find(text(2), 64).pages.length, 1);
  assert.equal(tree.find(text(1), 64).pages.length, 2);
  allocate(tree, null);
  assert.equal(tree.find(text(2), 64).pages.length, 0);
  assert.equal(tree.find(text(1), 64).pages.length, 2);
  assert.throws(() => release(tree, holders[1].pages), /released twice/);
});

Deno.test("page tree: of pages that begin alike the one that agrees longest is found", () => {
  const tree = treeOf(4);
  const memory: Memory = Array.from({ length: 4 }, () => []);
  const text = (...own: number[]) => [7, 7, 7, ...own];
  for (const own of [[1, 2, 9], [1, 2, 3, 4], [1, 2, 3, 5, 6]]) {
    write(tree, memory, { tokens: text(...own), pages: [], written: 0 }, 3 + own.length);
  }
  const { pages, partial } = tree.find(text(1, 2, 3, 5, 7, 8), 9);
  assert.deepEqual([pages.length, partial?.length], [0, 7]);
  assert.deepEqual(partial?.page.tokens, text(1, 2, 3, 5, 6));
  assert.equal(tree.find(text(1, 2, 3, 4), 5).partial?.length, 5, "of the tokens asked for alone");
  assert.equal(tree.find([8], 1).partial, null);
});

Deno.test("copied rows: a copy of a copy comes from the row that was computed", () => {
  const [a, b, c] = [5, 2, 7].map((page) => page * pageTokens);
  const rows = new CopiedRows();
  assert.deepEqual(rows.copy(5, 2, b), [[a, b], [a + 1, b + 1]]);
  // The third row of b was computed there.
  assert.deepEqual(
    rows.copy(2, 3, c),
    [[a, c], [a + 1, c + 1], [b + 2, c + 2]],
  );
});
