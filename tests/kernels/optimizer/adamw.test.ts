import assert from "node:assert/strict";
import { adamw } from "../../../src/kernels/optimizer/adamw.ts";
import { toStorage } from "../../../src/model/decoder/half_precision.ts";
import { assertClose, onEveryGpu, randomFloats } from "../harness.ts";

const options = { learningRate: 1e-2, beta1: 0.9, beta2: 0.99, epsilon: 1e-8, weightDecay: 0.1 };

for (const size of [4, 1028]) {
  onEveryGpu(`ten AdamW steps of ${size} parameters`, async (gpu) => {
    const start = randomFloats(size, 1);
    const scale = 0.5;
    const tensors = {
      parameters: gpu.from(start, [size]),
      gradients: gpu.tensor([size]),
      firstMoment: gpu.zeros([size]),
      secondMoment: gpu.zeros([size]),
      clipScale: gpu.from(Float32Array.of(scale), [1]),
    };
    const p = Array.from(start), m = p.map(() => 0), v = p.map(() => 0);
    const { learningRate, beta1, beta2, epsilon, weightDecay } = options;
    for (let t = 1; t <= 10; t++) {
      const gradients = randomFloats(size, 1 + t, 3);
      gpu.write(tensors.gradients, gradients);
      const biasCorrection1 = 1 - beta1 ** t;
      const biasCorrection2 = 1 - beta2 ** t;
      adamw(gpu, tensors, { ...options, biasCorrection1, biasCorrection2 });
      for (let i = 0; i < size; i++) {
        const g = gradients[i] * scale;
        m[i] = beta1 * m[i] + (1 - beta1) * g;
        v[i] = beta2 * v[i] + (1 - beta2) * g * g;
        p[i] *= 1 - learningRate * weightDecay;
        p[i] -= learningRate * (m[i] / biasCorrection1) /
          (Math.sqrt(v[i] / biasCorrection2) + epsilon);
      }
    }
    const { parameters, firstMoment, secondMoment } = tensors;
    const read = await gpu.readAll([parameters, firstMoment, secondMoment]);
    const bound = (absolute: number) => ({
      absolute,
      relative: 3e-6,
      why: "ten f32 updates; division and square root are good to 3 units in the last place",
    });
    assertClose(read[0], p, bound(1e-6));
    assertClose(read[1], m, bound(1e-6));
    assertClose(read[2], v, bound(0));

    gpu.write(tensors.gradients, new Float32Array(size).fill(NaN));
    gpu.write(tensors.clipScale, Float32Array.of(0));
    adamw(gpu, tensors, { ...options, biasCorrection1: 1, biasCorrection2: 1 });
    const after = await gpu.readAll([parameters, firstMoment, secondMoment]);
    assert.deepEqual(after, read, "a clip scale of 0 skips the step");
    gpu.release(...Object.values(tensors));
  });
}

for (const dtype of ["f16", "bf16"] as const) {
  onEveryGpu(
    `AdamW leaves the parameters in ${dtype} too, rounded to nearest even`,
    async (gpu) => {
      const size = 1028;
      const tensors = {
        parameters: gpu.from(randomFloats(size, 1), [size]),
        gradients: gpu.from(randomFloats(size, 2), [size]),
        firstMoment: gpu.zeros([size]),
        secondMoment: gpu.zeros([size]),
        clipScale: gpu.from(Float32Array.of(1), [1]),
      };
      const alone = gpu.from(randomFloats(size, 1), [size]);
      const rounded = gpu.zeros([size], dtype);
      const step = { ...options, biasCorrection1: 0.1, biasCorrection2: 0.01 };
      adamw(gpu, { ...tensors, rounded }, step);
      const [masters, found] = await gpu.readAll([tensors.parameters, rounded]);
      assert.deepEqual(found, toStorage(masters as Float32Array, dtype));

      for (const moment of [tensors.firstMoment, tensors.secondMoment]) gpu.clear(moment);
      adamw(gpu, { ...tensors, parameters: alone }, step);
      assert.deepEqual(await gpu.read(alone), masters, "the bits of f32 weights");

      gpu.write(tensors.clipScale, Float32Array.of(0));
      adamw(gpu, { ...tensors, rounded }, step);
      assert.deepEqual(await gpu.readAll([tensors.parameters, rounded]), [masters, found]);
      gpu.release(...Object.values(tensors), alone, rounded);
    },
  );
}
