import assert from "node:assert/strict";
import { ropeAngles, type RopeScaling } from "../../../src/model/decoder/rope_scaling.ts";

/** What transformers 5 computes in float32 (`ROPE_INIT_FUNCTIONS`), rounded to 7 digits. */
const references: readonly {
  readonly headDim: number;
  readonly theta: number;
  readonly scaling: RopeScaling;
  readonly frequencies: readonly number[];
}[] = [
  {
    headDim: 64,
    theta: 500000,
    scaling: {
      type: "llama3",
      factor: 8,
      lowFrequencyFactor: 1,
      highFrequencyFactor: 4,
      originalPositions: 8192,
    },
    // deno-fmt-ignore
    frequencies: [
      1.0, 0.6636013, 0.4403666, 0.2922278, 0.1939228, 0.1286874, 0.0853971, 0.05666962, 0.03760603,
      0.02495541, 0.01656044, 0.01098953, 0.007292665, 0.004839421, 0.003211446, 0.001371894,
      0.000524846, 0.0001785078, 7.784655e-05, 5.165907e-05, 3.428102e-05, 2.274893e-05, 1.509622e-05,
      1.001787e-05, 6.64787e-06, 4.411535e-06, 2.9275e-06, 1.942693e-06, 1.289173e-06, 8.554969e-07,
      5.677088e-07, 3.767323e-07,
    ],
  },
  {
    headDim: 8,
    theta: 10000,
    scaling: { type: "linear", factor: 4 },
    frequencies: [0.25, 0.025, 0.0025, 0.00025],
  },
];

Deno.test("rotary scaling gives the frequencies that transformers computes", () => {
  for (const { headDim, theta, scaling, frequencies } of references) {
    const rotation = { size: headDim, theta, scaling };
    const { frequencies: actual } = ropeAngles(headDim, rotation);
    assert.equal(actual.length, frequencies.length);
    frequencies.forEach((expected, i) => {
      // Their float32 pow and division are a few 1e-7 off.
      assert.ok(Math.abs(actual[i] - expected) <= 1e-6 * expected, `${scaling.type} ${i}`);
    });
  }
});
