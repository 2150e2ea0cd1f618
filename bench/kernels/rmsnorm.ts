import { rmsnormBackward, rmsnormForward } from "../../src/kernels/layers/rmsnorm.ts";
import { dot, type MakeBenchmark, sampleIndices, sumBound } from "../benchmark.ts";

const epsilon = 1e-6;

/** Backward gives the gradients of the input and of the weight. */
export const makeRmsnorm: MakeBenchmark = (bench, { size: { rows, width } }, variant) => {
  const { gpu } = bench;
  const [x, dy] = [bench.random([rows, width]), bench.random([rows, width])];
  const weight = bench.random([width]);
  const [y, rstd, dx] = [
    bench.zeros([rows, width]),
    bench.zeros([rows]),
    bench.zeros([rows, width]),
  ];
  const weightGradient = bench.zeros([width]);
  const scale = (t: number) => {
    const at = (j: number) => x.data[t * width + j];
    return 1 / Math.sqrt(dot(width, at, at).sum / width + epsilon);
  };
  const forward = () => rmsnormForward(gpu, x.tensor, weight.tensor, y, rstd, epsilon);
  if (variant === "forward") {
    return {
      work: 8 * rows * width,
      launch: forward,
      check: async () => {
        const result = await gpu.readFloats(y);
        return sampleIndices(rows * width).map((at) => {
          const [t, j] = [Math.floor(at / width), at % width];
          const expected = x.data[at] * scale(t) * weight.data[j];
          const bound = 1e-7 + 4e-6 * Math.abs(expected);
          return { what: `y[${t}, ${j}]`, actual: result[at], expected, bound };
        });
      },
    };
  }
  forward();
  const inputs = { x: x.tensor, weight: weight.tensor, rstd, dy: dy.tensor };
  return {
    work: 12 * rows * width,
    launch: () => rmsnormBackward(gpu, { ...inputs, upstream: null, dx, weightGradient }),
    check: async () => {
      const [dxData, dWeightData] = await gpu.readAll([dx, weightGradient]);
      const inputGradients = sampleIndices(rows * width).map((at) => {
        const [t, j] = [Math.floor(at / width), at % width];
        const gradient = (i: number) => dy.data[t * width + i] * weight.data[i];
        const { sum } = dot(width, gradient, (i) => x.data[t * width + i]);
        const s = scale(t);
        const expected = s * (gradient(j) - x.data[at] * s * s * sum / width);
        return { what: `dx[${t}, ${j}]`, actual: dxData[at], expected, bound: 1e-5 };
      });
      const weightGradients = sampleIndices(width, 8).map((j) => {
        const { sum, magnitude } = dot(
          rows,
          (t) => dy.data[t * width + j] * scale(t),
          (t) => x.data[t * width + j],
        );
        const bound = 2 * sumBound(rows, magnitude);
        return { what: `dWeight[${j}]`, actual: dWeightData[j], expected: sum, bound };
      });
      return [...inputGradients, ...weightGradients];
    },
  };
};
