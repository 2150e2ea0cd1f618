/** The head's gradients on matrix units, of so many rows that the vocabulary is cut. */

import assert from "node:assert/strict";
import { headBackward, headForward } from "../../../src/model/decoder/head.ts";
import { tokenRuns } from "../../../src/kernels/products/token_runs.ts";
import { randomFloats } from "../../kernels/harness.ts";
import { onMatrixUnits } from "../../kernels/on_matrix_units.ts";
import { tinyModel } from "../tiny_model.ts";

/** Rows of one pass, at which 3,000 columns come in chunks of 2,048, and of three with all columns at once. */
const passes = [[4200], [1000, 1400, 1800]] as const;
const rows = 4200;

/** Rows of a run, which the passes above do not cut. */
const runLength = 200;

onMatrixUnits(
  "matrix units: the head's gradients have the same bits however the vocabulary and the rows are cut, also at a low temperature",
  ["f16", "f16-pair", "f32-matrix"],
  async (gpu) => {
    const model = tinyModel(gpu, { config: { vocabularySize: 3000, hiddenSize: 8 } });
    const { hiddenSize, vocabularySize } = model.config;
    const gradients = model.trainable?.gradients;
    assert.ok(gradients);
    // Columns of the second chunk are all but impossible: what they are scaled by may not be their own largest.
    const [{ firstRow, weight }] = model.head;
    assert.equal(firstRow, 0);
    const impossible = new Float32Array((vocabularySize - 2048) * hiddenSize).fill(-0.1);
    gpu.write(weight.view(2048 * hiddenSize, [impossible.length]), impossible);
    const hidden = gpu.from(randomFloats(rows * hiddenSize, 1).map(Math.abs), [rows, hiddenSize]);
    const targets = gpu.from(
      Uint32Array.from({ length: rows }, (_, i) => (i * 37) % 2048),
      [rows],
    );
    // Runs of very different slopes.
    const sized = (seed: number, size: number) =>
      randomFloats(rows, seed, size).map((x, i) => x * 2 ** -(5 * Math.floor(i / runLength) % 23));
    const slopes = gpu.from(sized(2, 1), [rows]), entropySlopes = gpu.from(sized(3, 0.3), [rows]);
    const inverseTemperature = 20;
    const found: Uint32Array[][] = [];
    for (const lengths of passes) {
      gradients.forEach((gradient) => gpu.clear(gradient));
      const hiddenGradients: number[] = [];
      let first = 0;
      for (const length of lengths) {
        const [dHidden] = gpu.scope(() => {
          const part = (x: typeof hidden) =>
            x.view(first * (x.size / rows), [length, ...x.shape.slice(1)]);
          const starts = Array.from({ length: length / runLength }, (_, run) => run * runLength);
          const runs = tokenRuns(gpu, starts, length);
          assert.equal(runs === null, gpu.tuning.bits !== "mma");
          const own = part(targets);
          const head = headForward(model, part(hidden), own, inverseTemperature);
          const ofLogProbs = part(slopes), ofEntropies = part(entropySlopes);
          return [headBackward(
            model,
            part(hidden),
            own,
            inverseTemperature,
            head,
            ofLogProbs,
            ofEntropies,
            runs,
          )];
        }, (kept) => kept);
        hiddenGradients.push(...await gpu.readFloats(dHidden));
        gpu.release(dHidden);
        first += length;
      }
      const read = await gpu.readAll(gradients);
      const all = [...read as Float32Array[], Float32Array.from(hiddenGradients)];
      found.push(all.map(({ buffer }) => new Uint32Array(buffer as ArrayBuffer)));
      const floats = all.flatMap((data) => [...data]);
      assert.ok(floats.some((x) => x !== 0) && floats.every(Number.isFinite));
    }
    found[0].forEach((bits, i) =>
      assert.ok(bits.every((bit, at) => bit === found[1][i][at]), `gradient ${i}`)
    );
    gpu.release(hidden, targets, slopes, entropySlopes);
    model.release();
  },
);
