import assert from "node:assert/strict";
import { pageTokens } from "../../src/kernels/attention_shape.ts";
import { advanceSlots, noToken } from "../../src/kernels/advance.ts";
import { onEveryGpu } from "./harness.ts";

interface Slot {
  position: number;
  remaining: number;
  keyRow: number;
  length: number;
}

onEveryGpu(
  "slots advance, stop at stop tokens, at their last token and at their last page",
  async (gpu) => {
    const slots = 70;
    const steps = 9;
    const maxPages = 3;
    const stopTokens = [3, 40];
    const pages = Uint32Array.from({ length: slots * maxPages }, (_, i) => (i * 37) % 1000);
    const host: Slot[] = Array.from({ length: slots }, (_, s) => ({
      // Slot 1 runs out of pages, slots 2, 9, ... begin inactive, the rest cross a page boundary.
      position: s === 1 ? maxPages * pageTokens - 4 : 27 + s % 8,
      remaining: s % 7 === 2 ? 0 : s === 1 ? 50 : 1 + s % 12,
      keyRow: 0,
      length: 0,
    }));
    const u32 = (values: number[]) => gpu.from(Uint32Array.from(values), [slots]);
    const state = {
      tokens: u32(host.map(() => 0)),
      positions: u32(host.map((slot) => slot.position)),
      remaining: u32(host.map((slot) => slot.remaining)),
      sequenceIds: u32(host.map((_, s) => s)),
    };
    const next = { keyRows: gpu.tensor([slots], "u32"), lengths: gpu.tensor([slots], "u32") };
    const pageTable = gpu.from(pages, [slots, maxPages]);
    const logProbs = gpu.from(Float32Array.from(host, (_, s) => -s / 8), [slots]);
    const window = {
      tokens: gpu.tensor([steps, slots], "u32"),
      logProbs: gpu.tensor([steps, slots]),
    };
    const expectedTokens: number[] = [];
    const expectedLogProbs: number[] = [];
    for (let step = 0; step < steps; step++) {
      const drawn = host.map((_, s) => (s * 13 + step * 29) % 97);
      gpu.write(state.tokens, Uint32Array.from(drawn));
      advanceSlots(gpu, state, logProbs, pageTable, { ...window, step }, stopTokens, next);
      host.forEach((slot, s) => {
        const active = slot.remaining > 0;
        expectedTokens.push(active ? drawn[s] : noToken);
        expectedLogProbs.push(active ? -s / 8 : 0);
        slot.keyRow = noToken;
        slot.length = 0;
        if (!active) return;
        slot.position++;
        slot.remaining--;
        const page = Math.floor(slot.position / pageTokens);
        if (stopTokens.includes(drawn[s]) || page >= maxPages) slot.remaining = 0;
        if (slot.remaining === 0) return;
        slot.keyRow = pages[s * maxPages + page] * pageTokens + slot.position % pageTokens;
        slot.length = slot.position + 1;
      });
      const read = await gpu.readAll([
        next.keyRows,
        next.lengths,
        state.positions,
        state.remaining,
      ]);
      assert.deepEqual([...read[0]], host.map((slot) => slot.keyRow));
      assert.deepEqual([...read[1]], host.map((slot) => slot.length));
      assert.deepEqual([...read[2]], host.map((slot) => slot.position));
      assert.deepEqual([...read[3]], host.map((slot) => slot.remaining));
    }
    assert.equal(host[1].remaining, 0);
    const read = await gpu.readAll([window.tokens, window.logProbs]);
    assert.deepEqual([...read[0]], expectedTokens);
    assert.deepEqual([...read[1]].map((x) => x + 0), expectedLogProbs.map((x) => x + 0));
    const five = [1, 2, 3, 4, 5];
    assert.throws(
      () => advanceSlots(gpu, state, logProbs, pageTable, { ...window, step: 0 }, five, next),
      /at most 4/,
    );
    gpu.release(...Object.values(state), ...Object.values(next), ...Object.values(window));
    gpu.release(pageTable, logProbs);
  },
);
