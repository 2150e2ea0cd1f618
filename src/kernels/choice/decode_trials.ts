import type { Trials } from "../../gpu/measure_variants.ts";
import { bytesOf } from "../../gpu/tensor.ts";
import {
  attentionDecode,
  decodeOperation,
  type DecodeShape,
  decodeTexts,
  type DecodeVariant,
} from "../attention/attention_decode.ts";
import { pageTokens } from "../attention/attention_shape.ts";
import { repeated, trialNumbers } from "./trial_numbers.ts";

/** Bytes of keys, and of values: slots share pages beyond, more than the caches of most devices hold. */
const mostCacheBytes = 64 * 2 ** 20;
const mostSlots = 64;
const mostPages = 256;
/** Heads of slots whose outputs are compared with sums in float64. */
const comparedHeads = 6;

/** How the variants of decode attention are tried: contexts as long as they may get, whose pages lie in disorder. */
export const decodeTrials: Trials<DecodeShape, DecodeVariant> = {
  operation: decodeOperation,
  texts: decodeTexts,
  prepare(gpu, asked) {
    const { heads, kvHeads, headDim, cacheDtype } = asked;
    const slots = Math.min(asked.slots, mostSlots);
    const maxPages = Math.min(asked.maxPages, mostPages);
    const keys = maxPages * pageTokens;
    const pageBytes = bytesOf(cacheDtype) * pageTokens * kvHeads * headDim;
    const pages = Math.max(1, Math.min(slots * maxPages, Math.floor(mostCacheBytes / pageBytes)));
    // A step that shares no factor with most numbers of pages.
    const table = Uint32Array.from({ length: slots * maxPages }, (_, i) => (i * 7919) % pages);
    const { stored, values: numbers } = trialNumbers(3, cacheDtype);
    const period = numbers.length;
    const cacheSize = pages * pageTokens * kvHeads * headDim;
    // Values begin elsewhere in the numbers than keys.
    const valuesFrom = 1000;
    const rotated = numbers.map((_, i) => numbers[(i + valuesFrom) % period]);
    const storedValues = stored.map((_, i) => stored[(i + valuesFrom) % period]);
    const scale = headDim ** -0.5;
    const perSlot = [slots, heads, headDim];
    const perRow = [pages * pageTokens, kvHeads, headDim];
    const inputs = {
      queries: gpu.from(repeated(numbers, slots * heads * headDim), perSlot, "f32", "trial Q"),
      cacheKeys: gpu.from(repeated(stored, cacheSize), perRow, cacheDtype, "trial K"),
      cacheValues: gpu.from(repeated(storedValues, cacheSize), perRow, cacheDtype, "trial V"),
      pageTable: gpu.from(table, [slots, maxPages], "u32", "trial pages"),
      lengths: gpu.from(new Uint32Array(slots).fill(keys), [slots], "u32", "trial lengths"),
    };
    const output = gpu.tensor(perSlot, "f32", "trial output");
    /** The output of one head of a slot, and how far its scores may be off. */
    const expected = (slot: number, head: number) => {
      const queryAt = (slot * heads + head) * headDim;
      const kvHead = Math.floor(head / (heads / kvHeads));
      const rowAt = (key: number) => {
        const page = table[slot * maxPages + Math.floor(key / pageTokens)];
        return ((page * pageTokens + key % pageTokens) * kvHeads + kvHead) * headDim;
      };
      let sum = 0, off = 0;
      const sums = new Float64Array(headDim);
      for (let key = 0; key < keys; key++) {
        const row = rowAt(key);
        let score = 0, magnitude = 0;
        for (let d = 0; d < headDim; d++) {
          const term = numbers[(queryAt + d) % period] * numbers[(row + d) % period] * scale;
          score += term;
          magnitude += Math.abs(term);
        }
        // Scores are below √D: none of their exponentials overflows.
        const weight = Math.exp(score);
        sum += weight;
        off = Math.max(off, magnitude);
        for (let d = 0; d < headDim; d++) sums[d] += weight * rotated[(row + d) % period];
      }
      return { outputs: sums.map((value) => value / sum), off };
    };
    return {
      shape: `${slots} sequences of ${keys} keys`,
      variants: decodeOperation.variantsFor(gpu.tuning, asked),
      output,
      launch: ({ name }) =>
        attentionDecode(gpu, inputs, output, { heads, kvHeads, headDim, scale }, name),
      fault(found) {
        for (let n = 0; n < comparedHeads; n++) {
          const [slot, head] = [(n * 7919) % slots, (n * 104729) % heads];
          const { outputs, off } = expected(slot, head);
          // A mean of values below 1: a score is off by its roundings, as many as it has terms, and so is its share;
          // both sums over keys round once for each key.
          const bound = 2 ** -23 * (2 * (headDim + 8) * (off + 1) + 2 * keys);
          for (const [d, value] of outputs.entries()) {
            const own = found[(slot * heads + head) * headDim + d];
            if (!(Math.abs(own - value) <= bound)) {
              return `output[${slot}, ${head}, ${d}] is ${own}, expected ${value}`;
            }
          }
        }
        return null;
      },
      release: () => gpu.release(output, ...Object.values(inputs)),
    };
  },
};
