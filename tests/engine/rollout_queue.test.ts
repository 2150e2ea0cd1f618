import assert from "node:assert/strict";
import { pageTokens } from "../../src/engine/kv_cache.ts";
import {
  type PagePool,
  pagesPerSequence,
  RolloutQueue,
  type RolloutRequest,
  type Slot,
} from "../../src/engine/rollout_queue.ts";

/** The page bookkeeping of a KV cache, with every mistake in its use an exception. */
class PageCounter implements PagePool {
  readonly references: number[];

  constructor(readonly pages: number) {
    this.references = Array(pages).fill(0);
  }

  get freePages(): number {
    return this.references.filter((count) => count === 0).length;
  }

  allocate(): number {
    const page = this.references.indexOf(0);
    assert.ok(page >= 0, "allocated without a free page");
    this.references[page] = 1;
    return page;
  }

  share(page: number): void {
    assert.ok(this.references[page] > 0, `page ${page} shared while free`);
    this.references[page]++;
  }

  free(page: number): void {
    assert.ok(this.references[page] > 0, `page ${page} freed twice`);
    this.references[page]--;
  }
}

function queueOf(
  requests: readonly RolloutRequest[],
  { slots, maximumResponse, pages }: { slots: number; maximumResponse: number; pages: number },
): { queue: RolloutQueue; cache: PageCounter } {
  const cache = new PageCounter(pages);
  const queue = new RolloutQueue(requests, cache, slots, maximumResponse);
  return { queue, cache };
}

function request(promptLength: number, sequenceIds: number[]): RolloutRequest {
  return { prompt: Uint32Array.from({ length: promptLength }, (_, t) => t), sequenceIds };
}

Deno.test("rollout queue: pages for a prompt and the longest response", () => {
  assert.equal(pageTokens, 32);
  assert.equal(pagesPerSequence(1, 31), 1);
  assert.equal(pagesPerSequence(1, 32), 2);
  assert.equal(pagesPerSequence(64, 32), 3);
});

Deno.test("rollout queue: a group shares the whole pages of its prompt, each owns the rest", () => {
  const { queue, cache } = queueOf([request(70, [0, 1, 2])], {
    slots: 4,
    maximumResponse: 10,
    pages: 16,
  });
  const [prefill] = queue.admit();
  assert.equal(prefill.tokens.length, 69, "the last token of the prompt is decoded");
  const [first, second, third] = queue.active;
  // Positions 0 to 63 fill two pages; 64 to 79 need one page of each response's own.
  for (const slot of [second, third]) {
    assert.deepEqual(slot.pages.slice(0, 2), first.pages.slice(0, 2));
  }
  assert.equal(new Set([first, second, third].map(({ pages }) => pages[2])).size, 3);
  assert.equal(cache.freePages, 16 - 5);
  assert.deepEqual(first.pages.slice(0, 2).map((page) => cache.references[page]), [3, 3]);
  // Every key of the prompt lands where each of the responses looks for it.
  const rows = new Set(prefill.rows.map(([t, row]) => `${t} ${row}`));
  for (const { pages } of queue.active) {
    for (let t = 0; t < 69; t++) {
      assert.ok(rows.has(`${t} ${pages[Math.floor(t / 32)] * 32 + t % 32}`), `key ${t}`);
    }
  }
  assert.equal(rows.size, 64 + 3 * 5);
  queue.retire(new Set([second]));
  assert.deepEqual(first.pages.slice(0, 2).map((page) => cache.references[page]), [2, 2]);
  assert.equal(cache.references[second.pages[2]], 0);
  queue.retire(new Set([first, third]));
  assert.equal(cache.freePages, 16);
  assert.ok(queue.done);
});

Deno.test("rollout queue: the page of the prompt's last token is never shared", () => {
  // Its key is written while decoding, once by each response.
  for (const length of [1, 32, 33, 64, 65]) {
    const { queue } = queueOf([request(length, [0, 1])], {
      slots: 2,
      maximumResponse: 40,
      pages: 16,
    });
    queue.admit();
    const [a, b] = queue.active;
    const page = Math.floor((length - 1) / 32);
    assert.notEqual(a.pages[page], b.pages[page], `prompt of ${length}`);
    assert.equal(a.pages.length, pagesPerSequence(length, 40));
    assert.equal(a.position, length - 1);
    assert.equal(a.token, length - 1);
  }
});

Deno.test("rollout queue: a group larger than the slots is done in parts", () => {
  const sequenceIds = [5, 6, 7, 8, 9, 10, 11];
  const { queue, cache } = queueOf([request(40, sequenceIds)], {
    slots: 3,
    maximumResponse: 20,
    pages: 6,
  });
  const done: [number, number][] = [];
  while (!queue.done) {
    queue.admit();
    assert.ok(queue.active.length > 0, "the queue is stuck");
    assert.ok(queue.active.length <= 3);
    for (const { place, sequenceId } of queue.active) done.push([place, sequenceId]);
    queue.retire(new Set(queue.active));
  }
  assert.deepEqual(done, sequenceIds.map((id, place) => [place, id]));
  assert.equal(cache.freePages, 6);
});

Deno.test("rollout queue: waits for pages as well as slots and always ends", () => {
  const requests = [70, 1, 33, 64, 40, 2, 65, 31].map((length, r) =>
    request(length, Array.from({ length: 1 + r % 4 }, (_, i) => 10 * r + i))
  );
  const slots = 4;
  const maximumResponse = 24;
  const pages = slots * pagesPerSequence(70, maximumResponse);
  const { queue, cache } = queueOf(requests, { slots, maximumResponse, pages });
  const seen: number[] = [];
  for (let round = 0; !queue.done; round++) {
    assert.ok(round < 200, "the queue is stuck");
    const before = new Set<Slot>(queue.active);
    queue.admit();
    for (const slot of queue.active) if (!before.has(slot)) seen.push(slot.sequenceId);
    const owned = new Set(queue.active.flatMap((slot) => slot.pages));
    assert.equal(cache.freePages, pages - owned.size, "exactly the active pages are held");
    // One of them ends at a time, not always the oldest.
    queue.retire(new Set([queue.active[round % queue.active.length]]));
  }
  const wanted = requests.flatMap(({ sequenceIds }) => sequenceIds);
  assert.deepEqual(seen, wanted, "in order, each once");
  assert.equal(cache.freePages, pages);
});
