import { adamw } from "../../src/kernels/optimizer/adamw.ts";
import { gradientNorm } from "../../src/kernels/optimizer/gradient_norm.ts";
import { type MakeBenchmark, sampleIndices, sumBound } from "../benchmark.ts";

/** One AdamW step over a flat tensor. */
export const makeAdamw: MakeBenchmark = (bench, { size: { parameters: count } }) => {
  const { gpu } = bench;
  const [parameters, gradients] = [bench.random([count]), bench.random([count])];
  const [firstMoment, secondMoment] = [bench.zeros([count]), bench.zeros([count])];
  const clipScale = bench.zeros([1]);
  gpu.write(clipScale, Float32Array.of(1));
  const step = {
    learningRate: 1e-3,
    beta1: 0.9,
    beta2: 0.999,
    epsilon: 1e-8,
    weightDecay: 0.01,
    biasCorrection1: 1 - 0.9,
    biasCorrection2: 1 - 0.999,
  };
  const tensors = {
    parameters: parameters.tensor,
    gradients: gradients.tensor,
    firstMoment,
    secondMoment,
    clipScale,
  };
  return {
    work: 28 * count,
    launch: () => adamw(gpu, tensors, step),
    check: async () => {
      const result = await gpu.readFloats(parameters.tensor);
      return sampleIndices(count).map((i) => {
        // In the first step the moments are the gradient and its square.
        const gradient = gradients.data[i];
        const shrunk = parameters.data[i] * (1 - step.learningRate * step.weightDecay);
        const expected = shrunk -
          step.learningRate * gradient / (Math.abs(gradient) + step.epsilon);
        return { what: `parameters[${i}]`, actual: result[i], expected, bound: 3e-7 };
      });
    },
  };
};

/** The Euclidean norm of one gradient tensor. */
export const makeGradientNorm: MakeBenchmark = (bench, { size: { parameters: count } }) => {
  const { gpu } = bench;
  const gradients = bench.random([count]);
  const outputs = {
    norm: bench.zeros([1]),
    clipScale: bench.zeros([1]),
    nonFinite: bench.zeros([1], "u32"),
  };
  return {
    work: 4 * count,
    launch: () => gradientNorm(gpu, [gradients.tensor], outputs, 1),
    check: async () => {
      const [norm, clipScale] = await gpu.readAll([outputs.norm, outputs.clipScale]);
      const expected = Math.sqrt(gradients.data.reduce((sum, x) => sum + x * x, 0));
      const bound = sumBound(8192, expected);
      const scale = 1 / (expected + 1e-6);
      return [
        { what: "norm", actual: norm[0], expected, bound },
        { what: "clipScale", actual: clipScale[0], expected: scale, bound: scale * 1e-4 },
      ];
    },
  };
};
