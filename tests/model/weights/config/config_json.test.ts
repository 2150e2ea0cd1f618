import assert from "node:assert/strict";
import { parseModelConfig } from "../../../../src/model/weights/config/config_json.ts";
import type { RopeScaling } from "../../../../src/model/decoder/rope_scaling.ts";

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
    const { kinds } = parseModelConfig({ ...shape, ...keys }, "config.json");
    assert.deepEqual(
      kinds,
      [{ rotation: { size: 16, theta, scaling }, window: null }],
      JSON.stringify(keys),
    );
  }
});

Deno.test("config.json: what a family cannot have is refused by the name of its key", () => {
  const gemma = { model_type: "gemma3_text", hidden_act: undefined };
  const long = { rope_type: "longrope", short_factor: [1, 2], long_factor: [1, 2] };
  const bad: readonly (readonly [object, RegExp])[] = [
    [{ model_type: "mistral", sliding_window: "128" }, /sliding_window is "128"/],
    [{ use_sliding_window: true }, /use_sliding_window is true/],
    [{ model_type: "smollm3", use_sliding_window: true }, /use_sliding_window is true/],
    [{ partial_rotary_factor: 0.3 }, /partial_rotary_factor 0\.3 rotates 4 of head_dim 16/],
    [{ partial_rotary_factor: 2 }, /partial_rotary_factor 2 rotates 32 of head_dim 16/],
    [{ partial_rotary_factor: 0.5 }, /rotates 8 of head_dim 16; this family rotates all/],
    [{ ...gemma, partial_rotary_factor: 0.5 }, /rotates 8 of head_dim 16; this family/],
    [{ model_type: "smollm3", partial_rotary_factor: 0.5 }, /rotates 8 of head_dim 16; this/],
    [
      { ...gemma, rope_parameters: { sliding_attention: { rope_type: "linear", factor: 2 } } },
      /the rotation of sliding_attention is scaled \(linear\); expected default/,
    ],
    [{ ...gemma, final_logit_softcapping: 30 }, /final_logit_softcapping is 30; expected null/],
    [
      { ...gemma, model_type: "gemma2", final_logit_softcapping: 0 },
      /final_logit_softcapping is 0;/,
    ],
    [{ ...gemma, layer_types: ["full_attention"] }, /layer_types is \["full_attention"\]/],
    [
      { rope_scaling: { rope_type: "dynamic", factor: 2 } },
      /rope type "dynamic"; .*yarn, longrope/,
    ],
    [{ rope_scaling: { type: "yarn", factor: 0 } }, /factor of the rotary scaling is 0/],
    [{ rope_scaling: long }, /short_factor of the rotary scaling is a list of 2; expected 8/],
    [{ attention_bias: 1 }, /attention_bias is 1; expected true or false/],
    [{ model_type: "smollm3", no_rope_layers: [1] }, /no_rope_layers is \[1\]; .*of the 2 layers/],
    [{ model_type: "smollm3", no_rope_layers: [1, 2] }, /no_rope_layers is \[1,2\]/],
    [{ model_type: "smollm3", no_rope_layer_interval: 0 }, /no_rope_layer_interval is 0/],
    [{ model_type: "granite", logits_scaling: -1 }, /logits_scaling is -1; expected a positive/],
    [{ model_type: "granite", hidden_act: "gelu" }, /hidden_act is "gelu"/],
  ];
  for (const [keys, message] of bad) {
    assert.throws(() => parseModelConfig({ ...shape, ...keys }, "config.json"), message);
  }
  // A window that the context does not fill is none.
  for (const [window, kept] of [[512, null], [128, 128], [null, null]]) {
    const json = { ...shape, model_type: "mistral", sliding_window: window };
    assert.equal(parseModelConfig(json, "config.json").kinds[0].window, kept);
  }
  // Where a file does not say so, the head of some families is the embedding.
  assert.equal(parseModelConfig({ ...shape, ...gemma }, "config.json").tiedEmbeddings, true);
  assert.equal(parseModelConfig(shape, "config.json").tiedEmbeddings, false);
  // As many layers as a damaged file may name take no memory.
  const many = { ...shape, model_type: "smollm3", num_hidden_layers: 1e9 };
  assert.equal(parseModelConfig(many, "config.json").kinds.length, 4);
});

Deno.test("config.json: LongRoPE's short factors hold as far as the original context", () => {
  const { kinds: [{ rotation }], maxPositions } = parseModelConfig({
    ...shape,
    model_type: "phi3",
    max_position_embeddings: 131072,
    original_max_position_embeddings: 4096,
    rope_scaling: {
      type: "longrope",
      short_factor: Array(8).fill(1),
      long_factor: Array(8).fill(40),
    },
  }, "config.json");
  assert.equal(maxPositions, 4096);
  assert.ok(rotation.scaling?.type === "longrope");
  assert.deepEqual(rotation.scaling.divisors, Array(8).fill(1));
  // transformers: sqrt(1 + ln(32) / ln(4096))
  assert.ok(Math.abs(rotation.scaling.magnitude - 1.1902380714238083) < 1e-12);
});
