import { outputGateBackward, outputGateForward } from "../../../src/kernels/layers/output_gate.ts";
import { assertClose, onEveryGpu, randomFloats } from "../harness.ts";

const tolerance = {
  absolute: 1e-6,
  relative: 1e-6,
  why: "a handful of products, each rounded to 2⁻²⁴, of an exponential right to some 2⁻²²",
};

// A fifth of a second an engine.
onEveryGpu(
  "output gate: products with gates wherever they lie, and their gradients, as in float64",
  async (gpu) => {
    const [rows, columns] = [5, 24];
    for (const silu of [false, true]) {
      for (
        const places of [
          { first: 24, run: 24, distance: 24 },
          { first: 8, run: 8, distance: 16 },
          { first: 4, run: 12, distance: 28 },
        ]
      ) {
        const width = 60;
        const at = (t: number, j: number) =>
          t * width + places.first + Math.floor(j / places.run) * places.distance + j % places.run;
        const x = randomFloats(rows * columns, 1), gates = randomFloats(rows * width, 2, 6);
        const slopes = randomFloats(rows * columns, 3), untouched = randomFloats(rows * width, 4);
        const expected = {
          output: new Float64Array(rows * columns),
          dx: new Float64Array(rows * columns),
          dGates: Float64Array.from(untouched),
        };
        for (let t = 0; t < rows; t++) {
          for (let j = 0; j < columns; j++) {
            const i = t * columns + j, gate = gates[at(t, j)];
            const share = 1 / (1 + Math.exp(-gate));
            const through = silu ? gate * share : share;
            const steepness = share * (1 - share) * (silu ? gate : 1) + (silu ? share : 0);
            expected.output[i] = x[i] * through;
            expected.dx[i] = slopes[i] * through;
            expected.dGates[at(t, j)] = slopes[i] * x[i] * steepness;
          }
        }
        using steps = gpu.steps();
        const found = await gpu.readAll(steps.run(() => {
          const shape = [rows, columns];
          const gated = {
            x: gpu.from(x, shape),
            gates: gpu.from(gates, [rows, width]),
            places,
            silu,
          };
          const output = gpu.tensor(shape), dx = gpu.tensor(shape);
          const dGates = gpu.from(untouched, [rows, width]);
          outputGateForward(gpu, gated, output);
          outputGateBackward(gpu, gated, { dOutput: gpu.from(slopes, shape), dx, dGates });
          return [output, dx, dGates];
        })) as Float32Array[];
        assertClose(found[0], expected.output, tolerance);
        assertClose(found[1], expected.dx, tolerance);
        assertClose(found[2], expected.dGates, tolerance);
      }
    }
  },
);
