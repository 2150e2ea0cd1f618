import { rowScales } from "../../../src/kernels/losses/log_softmax.ts";
import assert from "node:assert/strict";
import { pageTokens } from "../../../src/kernels/attention/attention_shape.ts";
import {
  decodeState,
  noToken,
  slotsOf,
  stateWords,
  stopArray,
} from "../../../src/kernels/sampling/decode_slots.ts";
import {
  sampleTokens,
  samplingNeeds,
  samplingSettings,
  settingsWords,
} from "../../../src/kernels/sampling/sample.ts";
import { assertClose, onEveryGpu } from "../harness.ts";

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
    // Most slots share their stop tokens, every fifth has none and every sixth ones of its own.
    const common = [3, 40, 1000, 1001, 1002, 1003];
    const stopTokens = Array.from(
      { length: slots },
      (_, s) => s % 5 === 4 ? [] : s % 6 === 5 ? [13 * s % 97, (13 * s + 58) % 97] : common,
    );
    const reaches = 3;
    const tableStride = 256;
    const pages = Uint32Array.from({ length: slots * maxPages }, (_, i) => (i * 37) % 1000);
    const host: Slot[] = Array.from({ length: slots }, (_, s) => ({
      // Slot 1 runs out of pages, slots 2, 9, ... begin inactive, the rest cross a page boundary.
      position: s === 1 ? maxPages * pageTokens - 4 : 27 + s % 8,
      remaining: s % 7 === 2 ? 0 : s === 1 ? 50 : 1 + s % 12,
      keyRow: 0,
      length: 0,
    }));
    // The tables of two reaches that look back less far.
    const tables = new Uint32Array(reaches * tableStride);
    for (let r = 0; r < reaches; r++) {
      tables.set(pages.map((page) => (page + 500 * r) % 1300), r * tableStride);
    }
    const words = gpu.from(tables, [tables.length], "u32");
    const state = decodeState(gpu, slots, reaches);
    const moved = slotsOf(state, slots);
    const begun = host.map(({ position, remaining }) => ({
      tokens: 0,
      positions: position,
      remaining,
      keyRows: 0,
      lengths: 0,
      furtherRows: [0, 0],
    }));
    gpu.write(state, stateWords(state, begun));
    const columns = 100;
    const stopWords = stopArray(stopTokens, slots);
    const inputs = {
      logits: gpu.tensor([slots, columns]),
      settings: gpu.from(samplingSettings([], slots, columns), [slots, settingsWords], "u32"),
      scales: gpu.from(rowScales(new Float32Array(slots).fill(1)), [slots, 2]),
      pageTable: words.view(0, [slots, maxPages]),
      pageTables: { words, stride: tableStride },
      stops: gpu.from(stopWords, [stopWords.length], "u32"),
    };
    const window = gpu.tensor([steps, slots, 2], "u32");
    const needs = samplingNeeds([], columns);
    const expectedTokens: number[] = [];
    const expectedLogProbs: number[] = [];
    for (let step = 0; step < steps; step++) {
      const drawn = host.map((_, s) => (s * 13 + step * 29) % 97);
      // The largest logit is the wanted token's, the others are all 0.
      const logits = new Float32Array(slots * columns);
      drawn.forEach((token, s) => logits[s * columns + token] = 1 + s / 8);
      gpu.write(inputs.logits, logits);
      // Both ways of sharing a row among lanes move slots on alike.
      const lanes = step % 2 === 0 ? 1 : 128;
      sampleTokens(gpu, inputs, moved, { window, step }, { columns, needs, lanes });
      host.forEach((slot, s) => {
        const active = slot.remaining > 0;
        expectedTokens.push(active ? drawn[s] : noToken);
        expectedLogProbs.push(active ? -Math.log1p((columns - 1) * Math.exp(-1 - s / 8)) : 0);
        slot.keyRow = noToken;
        slot.length = 0;
        if (!active) return;
        slot.position++;
        slot.remaining--;
        const page = Math.floor(slot.position / pageTokens);
        if (stopTokens[s].includes(drawn[s]) || page >= maxPages) slot.remaining = 0;
        if (slot.remaining === 0) return;
        slot.keyRow = pages[s * maxPages + page] * pageTokens + slot.position % pageTokens;
        slot.length = slot.position + 1;
      });
      const read = await gpu.readAll([
        moved.keyRows,
        moved.lengths,
        moved.positions,
        moved.remaining,
      ]);
      assert.deepEqual([...read[0]], host.map((slot) => slot.keyRow));
      const further = await gpu.readAll(moved.furtherPlaces.map(({ places }) => places));
      moved.furtherPlaces.forEach(({ keyRowsAt }, r) => {
        const table = tables.subarray((r + 1) * tableStride);
        assert.deepEqual([...further[r].subarray(0, slots)], host.map((slot) => slot.position));
        assert.deepEqual(
          [...further[r].subarray(keyRowsAt, keyRowsAt + slots)],
          host.map(({ keyRow, position }, s) => {
            const page = table[s * maxPages + Math.floor(position / pageTokens)];
            return keyRow === noToken ? noToken : page * pageTokens + position % pageTokens;
          }),
        );
      });
      assert.deepEqual([...read[1]], host.map((slot) => slot.length));
      assert.deepEqual([...read[2]], host.map((slot) => slot.position));
      assert.deepEqual([...read[3]], host.map((slot) => slot.remaining));
    }
    assert.equal(host[1].remaining, 0);
    assert.ok(host.some((_, s) => s % 6 === 5 && s % 5 !== 4), "some stop at tokens of their own");
    const read = await gpu.read(window);
    const floats = new Float32Array(read.buffer as ArrayBuffer);
    assert.deepEqual(Array.from(expectedTokens, (_, i) => read[2 * i]), expectedTokens);
    assertClose(Array.from(expectedLogProbs, (_, i) => floats[2 * i + 1]), expectedLogProbs, {
      absolute: 2e-6,
      relative: 0,
      why: "roundings of numbers up to 10",
    });
    const { logits, settings, scales, stops } = inputs;
    gpu.release(state, window, words, logits, settings, scales, stops);
  },
);
