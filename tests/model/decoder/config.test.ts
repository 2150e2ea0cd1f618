import assert from "node:assert/strict";
import { parseModelConfig } from "../../../src/model/decoder/config.ts";
import type { RopeScaling } from "../../../src/model/decoder/rope_scaling.ts";

const shape = {
  model_type: "qwen3",
  hidden_size: 64,
  intermediate_size: 96,
  num_hidden_layers: 2,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  head_dim: 16,
  vocab_size: 64,
  max_position_embeddings: 512,
};

const linear = (factor: number): RopeScaling => ({ type: "linear", factor });

/** What `AutoConfig` of transformers 5.23 makes of the rotation's settings. */
const rotations: readonly (readonly [object, number, RopeScaling | null])[] = [
  [{}, 10000, null],
  [{ rope_theta: 7000, rope_parameters: { rope_type: "default" } }, 7000, null],
  [{ rope_theta: 7000, rope_parameters: { rope_theta: 20000 } }, 20000, null],
  [
    {
      rope_theta: 5000,
      rope_parameters: { rope_type: "default", rope_theta: 20000 },
      rope_scaling: { rope_type: "linear", factor: 4 },
    },
    5000,
    linear(4),
  ],
  [
    {
      rope_parameters: { rope_type: "default", rope_theta: 20000 },
      rope_scaling: { type: "linear", factor: 4 },
    },
    10000,
    linear(4),
  ],
  [
    { rope_parameters: { rope_type: "linear", factor: 2, rope_theta: 20000 }, rope_scaling: {} },
    20000,
    linear(2),
  ],
  [
    { rope_parameters: { rope_type: "linear", factor: 2, rope_theta: 20000 }, rope_scaling: null },
    20000,
    linear(2),
  ],
  [{ rope_scaling: { rope_type: "linear", type: "dynamic", factor: 2 } }, 10000, linear(2)],
  [
    {
      rope_scaling: { rope_type: "llama3", factor: 8, low_freq_factor: 1, high_freq_factor: 4 },
    },
    10000,
    {
      type: "llama3",
      factor: 8,
      lowFrequencyFactor: 1,
      highFrequencyFactor: 4,
      originalPositions: 512,
    },
  ],
];

Deno.test("config.json: rope_scaling wins over rope_parameters, as transformers has it", () => {
  for (const [keys, theta, scaling] of rotations) {
    const { ropeTheta, ropeScaling } = parseModelConfig({ ...shape, ...keys }, "config.json");
    assert.deepEqual(
      { ropeTheta, ropeScaling },
      { ropeTheta: theta, ropeScaling: scaling },
      JSON.stringify(keys),
    );
  }
});
