/** Weights that matrix units cannot take. */

import assert from "node:assert/strict";
import { promptedSequence } from "../../../src/engine/training/sequence.ts";
import { onMatrixUnits } from "../../kernels/on_matrix_units.ts";
import { adamwNumbers, tinyModel, tinyTrainer } from "../../model/tiny_model.ts";

const tokens = (count: number) => Uint32Array.from({ length: count }, (_, i) => (i * 7 + 3) % 64);
const batch = [{ ...promptedSequence(tokens(5), tokens(9)), weights: new Float32Array(9).fill(1) }];

onMatrixUnits(
  "matrix units: an update with a weight beyond 1023 is skipped, wherever it is, and one with 1000 is not",
  ["f16", "f16-pair"],
  async (gpu) => {
    const model = tinyModel(gpu);
    const trainer = tinyTrainer(model);
    const update = async () => {
      await trainer.forwardBackward(batch, { name: "cross_entropy" });
      return await trainer.optimStep(adamwNumbers(1e-3));
    };
    const places = [...model.parameters.places()].filter(({ tensor }) => tensor.shape.length === 2);
    for (const name of ["q_proj", "v_proj", "o_proj", "gate_proj", "down_proj", "lm_head"]) {
      const { tensor, segment, start } = places.find(({ tensor }) => tensor.name.includes(name))!;
      const weight = segment.view(start + 1, [1], tensor.name);
      const set = (value: number) => gpu.write(weight, Float32Array.of(value));
      const [before] = await gpu.readFloats(weight);
      set(2000);
      const weights = await model.parameters.read();
      assert.ok((await update()).nonFinite > 0, `${tensor.name} of 2000`);
      assert.deepEqual(await model.parameters.read(), weights, tensor.name);
      set(1000);
      assert.equal((await update()).nonFinite, 0, `${tensor.name} of 1000`);
      set(before);
    }
    trainer.release();
    model.release();
  },
);
