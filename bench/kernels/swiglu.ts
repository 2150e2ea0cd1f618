import { swigluBackward, swigluForward } from "../../src/kernels/layers/swiglu.ts";
import { type MakeBenchmark, sampleIndices } from "../benchmark.ts";

/** h = silu(gate) · up, the gate's columns and up's side by side. */
export const makeSwiglu: MakeBenchmark = (bench, { size: { rows, width } }, variant) => {
  const { gpu } = bench;
  const gateUp = bench.random([rows, 2 * width], 4);
  const at = (index: number) => {
    const gate = Math.floor(index / width) * 2 * width + index % width;
    const [x, up] = [gateUp.data[gate], gateUp.data[gate + width]];
    const sigmoid = 1 / (1 + Math.exp(-x));
    return { gate, x, up, sigmoid };
  };
  if (variant === "forward") {
    const h = bench.zeros([rows, width]);
    return {
      work: 12 * rows * width,
      launch: () => swigluForward(gpu, gateUp.tensor, h),
      check: async () => {
        const result = await gpu.readFloats(h);
        return sampleIndices(rows * width).map((index) => {
          const { x, up, sigmoid } = at(index);
          const expected = x * sigmoid * up;
          return { what: `h[${index}]`, actual: result[index], expected, bound: 2e-5 };
        });
      },
    };
  }
  const [dh, dGateUp] = [bench.random([rows, width]), bench.zeros([rows, 2 * width])];
  return {
    work: 20 * rows * width,
    launch: () => swigluBackward(gpu, gateUp.tensor, dh.tensor, dGateUp),
    check: async () => {
      const result = await gpu.readFloats(dGateUp);
      return sampleIndices(rows * width).flatMap((index) => {
        const { gate, x, up, sigmoid } = at(index);
        const d = dh.data[index];
        const dGate = d * up * sigmoid * (1 + x * (1 - sigmoid));
        const dUp = d * x * sigmoid;
        return [
          { what: `dGate[${index}]`, actual: result[gate], expected: dGate, bound: 2e-5 },
          { what: `dUp[${index}]`, actual: result[gate + width], expected: dUp, bound: 2e-5 },
        ];
      });
    },
  };
};
