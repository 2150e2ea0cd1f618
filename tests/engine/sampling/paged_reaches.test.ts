/** Texts come and go in caches of several reaches: whatever a pass or a step reads is its own text's, and nobody waits for ever. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { pagesFor } from "../../../src/engine/sampling/kv_cache.ts";
import { PageTree } from "../../../src/engine/sampling/page_tree.ts";
import { type PrefillPlaces, PrefillPlan } from "../../../src/engine/sampling/prefill_plan.ts";
import { firstPageSeen, mostPagesHeld, type Reach } from "../../../src/engine/sampling/reach.ts";
import { Sequence } from "../../../src/engine/sampling/sequence.ts";
import {
  addPages,
  fillPages,
  holdPages,
  leavePages,
  type PagedReaches,
  takePages,
  takePassed,
} from "../../../src/engine/sampling/sequence_pages.ts";
import { noToken } from "../../../src/kernels/sampling/decode_slots.ts";
import { attentionBlock, pageTokens } from "../../../src/kernels/attention/attention_shape.ts";
import { plain } from "./wanted.ts";

/** Texts, each of which has few that begin like it. */
const tokensOf = (seed: number, length: number) =>
  Array.from({ length }, (_, t) => t < 70 ? seed % 2 : t < 100 ? seed % 3 : (seed * 7 + t) % 5);

/** A cache of which it is known whose text every row holds: a number made of the text up to its token. */
class Memory {
  readonly paged: PagedReaches;
  readonly #rows: (number | null)[][];
  readonly #keys = new Map<Sequence, number[]>();
  readonly counts = { copied: 0, filledAgain: 0, passes: 0, putBack: 0, cached: 0 };

  constructor(reaches: readonly Reach[], pages: readonly number[], steps: number) {
    const tree = new PageTree(reaches.map((reach, r) => ({ reach, pages: pages[r] })));
    this.paged = { tree, reaches, steps };
    this.#rows = pages.map((count) => new Array<number | null>(count * pageTokens).fill(null));
  }

  /** What the text's token at a position adds to a row. */
  #key(sequence: Sequence, position: number): number {
    let keys = this.#keys.get(sequence);
    if (!keys) this.#keys.set(sequence, keys = []);
    for (let t = keys.length; t <= position; t++) {
      keys.push((Math.imul(keys.at(-1) ?? 1, 1000003) ^ sequence.tokens[t]) + t | 0);
    }
    return keys[position];
  }

  write(reach: number, row: number, sequence: Sequence, position: number): void {
    this.#rows[reach][row] = this.#key(sequence, position);
  }

  copy(reach: number, [from, to]: readonly [number, number]): void {
    this.#rows[reach][to] = this.#rows[reach][from];
    this.counts.copied++;
  }

  /** All that a token reads, from the beginning of a block on, is its text's. */
  read(reach: number, pages: readonly number[], sequence: Sequence, position: number): void {
    const { window } = this.paged.reaches[reach];
    const first = window === null ? 0 : Math.max(0, position + 1 - window);
    for (let key = first - first % attentionBlock; key <= position; key++) {
      const row = pages[Math.floor(key / pageTokens)] * pageTokens + key % pageTokens;
      if (this.#rows[reach][row] === this.#key(sequence, key)) continue;
      assert.fail(`reach ${reach}: key ${key} of ${position} is another text's`);
    }
  }

  /** What a pass does in the cache of a reach. */
  pass(
    reach: number,
    stretches: readonly (PrefillPlaces & { sequence: Sequence; first: number })[],
  ): void {
    for (const { rows, sequence, first } of stretches) {
      rows.forEach((row, i) => {
        if (row === noToken) return;
        if (this.#rows[reach][row] === this.#key(sequence, first + i)) this.counts.filledAgain++;
        this.write(reach, row, sequence, first + i);
      });
    }
    for (const { copies } of stretches) for (const pair of copies) this.copy(reach, pair);
    for (const { rows, pages, sequence, first } of stretches) {
      rows.forEach((_, i) => this.read(reach, pages, sequence, first + i));
    }
  }
}

/** Does what a sampler does, with texts in the place of keys. */
function sample(memory: Memory, requests: readonly Sequence[], maximum: number): void {
  const { paged, paged: { tree, reaches, steps } } = memory;
  const waiting = [...requests];
  const active: Sequence[] = [];
  const wanted = (sequence: Sequence) => pagesFor(sequence.keysAfter(steps));
  const remove = (sequence: Sequence) => {
    active.splice(active.indexOf(sequence), 1);
    leavePages(paged, sequence);
  };
  for (let turn = 0; waiting.length + active.length > 0; turn++) {
    assert.ok(turn < 3000, "somebody waits for ever");
    for (const sequence of active) {
      for (const { page, reach, isPassed } of takePassed(paged, sequence, sequence.position)) {
        tree.letGo(page, reach, isPassed);
      }
    }
    for (let s = 0; s < active.length; s++) {
      const sequence = active[s];
      const count = wanted(sequence);
      const isShort = () => sequence.held.some(({ end }, r) => tree.available(r) < count - end);
      while (s < active.length && isShort()) {
        const last = active[active.length - 1];
        remove(last);
        waiting.unshift(last);
        memory.counts.putBack++;
      }
      if (s === active.length) break;
      addPages(paged, sequence, count);
      for (const r of reaches.keys()) holdPages(paged, sequence, r, count);
    }
    const plan = new PrefillPlan(paged, maximum);
    while (waiting.length > 0 && active.length < 5) {
      const [sequence] = waiting;
      const found = takePages(paged, sequence, wanted(sequence));
      if (found === null) {
        if (!plan.holdsPassed) break;
        plan.cut();
        continue;
      }
      memory.counts.cached += found.length;
      sequence.admit(1, found.length, 0);
      plan.add(sequence, found, wanted(sequence));
      active.push(waiting.shift() ?? sequence);
    }
    const passes = plan.finish();
    memory.counts.passes += passes.length;
    for (const pass of passes) {
      assert.ok(pass.reduce((sum, { first, end }) => sum + end - first, 0) <= maximum);
      for (const r of reaches.keys()) {
        memory.pass(r, pass.map((prefill) => ({ ...prefill, ...prefill.places[r] })));
      }
    }
    for (const sequence of active) {
      reaches.forEach((reach, r) => {
        const { first, end } = sequence.held[r];
        assert.ok(first >= firstPageSeen(reach, sequence.position));
        assert.ok(end - first <= mostPagesHeld(reach, steps), "more than the bound");
      });
    }
    const tables = active.map((sequence) => reaches.map((_, r) => sequence.pageNumbers(r)));
    for (const [s, sequence] of [...active].entries()) {
      const before = sequence.position;
      for (let step = 0; step < steps && sequence.remaining > 0; step++) {
        const { position } = sequence;
        for (const r of reaches.keys()) {
          memory.write(r, sequence.rowOf(position, r), sequence, position);
          memory.read(r, tables[s][r], sequence, position);
        }
        sequence.append(tokensOf(sequence.id, position + 2)[position + 1], 0, new Uint32Array());
      }
      fillPages(tree, sequence, before, sequence.position);
      if (sequence.remaining === 0) remove(sequence);
    }
  }
}

Deno.test("paged reaches: what is read is the text's own, in any cache that it fits", () => {
  const totals = { copied: 0, filledAgain: 0, passes: 0, putBack: 0, cached: 0 };
  const request = fc.record({
    text: fc.nat(12),
    promptLength: fc.integer({ min: 1, max: 260 }),
    response: fc.integer({ min: 1, max: 130 }),
    promptLogProbs: fc.nat(6).map((n) => n === 0),
  });
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.constantFrom(null, 1, 5, 33, 64, 90), { minLength: 1, maxLength: 3 }),
      fc.array(fc.nat(20), { minLength: 3, maxLength: 3 }),
      fc.constantFrom(1, 6, 16),
      fc.constantFrom(7, 64, 1000),
      fc.array(request, { minLength: 1, maxLength: 9 }),
      (windows, spare, steps, maximum, requests) => {
        const reaches = windows.toSorted((a, b) => (b ?? Infinity) - (a ?? Infinity))
          .map((window) => ({ window }));
        const longest = Math.max(
          ...requests.map(({ promptLength, response }) => pagesFor(promptLength + response)),
        );
        const pages = reaches.map((reach, r) =>
          Math.min(longest, mostPagesHeld(reach, steps)) + spare[r]
        );
        const memory = new Memory(reaches, pages, steps);
        const sequences = requests.map(({ text, promptLength, response, promptLogProbs }) =>
          new Sequence(
            text,
            {
              ...plain,
              prompt: Uint32Array.from(tokensOf(text, promptLength)),
              maximumResponse: response,
              promptLogProbs,
              listener: { end: () => {} },
            },
            null,
          )
        );
        sample(memory, sequences, maximum);
        const { tree } = memory.paged;
        pages.forEach((count, r) => assert.equal(tree.available(r), count, "none is lost"));
        for (const [key, count] of Object.entries(memory.counts)) {
          totals[key as keyof typeof totals] += count;
        }
      },
    ),
    { numRuns: 250, seed: 11 },
  );
  console.log(JSON.stringify(totals));
  assert.ok(Object.values(totals).every((count) => count > 100), JSON.stringify(totals));
});
