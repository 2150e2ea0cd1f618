import assert from "node:assert/strict";
import { loraTargets, targetsIn } from "../../../../src/model/decoder/lora.ts";
import { parseModelConfig } from "../../../../src/model/weights/config/config_json.ts";

/** As Qwen3.5's files have it. */
const json = {
  model_type: "qwen3_5_text",
  vocab_size: 100,
  hidden_size: 64,
  intermediate_size: 96,
  num_hidden_layers: 8,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  head_dim: 32,
  tie_word_embeddings: true,
};
const parsed = (keys: object) => parseModelConfig({ ...json, ...keys }, "config.json");

Deno.test("qwen3.5: what its config.json leaves out is as transformers has it", () => {
  const { kinds, qkNorm, norms, layers } = parsed({});
  assert.equal(layers, 8);
  const delta = { keyHeads: 16, valueHeads: 32, keyDim: 128, valueDim: 128, taps: 4 };
  assert.deepEqual(kinds.map((kind) => kind.delta), [delta, delta, delta, undefined]);
  assert.deepEqual(kinds.map(({ gated }) => gated), [undefined, undefined, undefined, true]);
  assert.deepEqual(kinds[3].rotation, { size: 8, theta: 10_000, scaling: null });
  assert.equal(qkNorm, true);
  assert.deepEqual(norms, { fromOne: true, after: false });
  const second = parsed({ full_attention_interval: 2 }).kinds;
  assert.deepEqual(second.map(({ gated }) => gated === true), [false, true]);
  const rope_parameters = {
    ...{ rope_theta: 1e7, rope_type: "default", partial_rotary_factor: 0.5 },
    ...{ mrope_section: [3, 3, 2], mrope_interleaved: true },
  };
  const { rotation } = parsed({ rope_parameters }).kinds[3];
  assert.deepEqual(rotation, { size: 16, theta: 1e7, scaling: null });
});

Deno.test("qwen3.5: of a model that reads pictures the text decoder is read", () => {
  const whole = (keys: object) =>
    parseModelConfig(
      { model_type: "qwen3_5", text_config: json, vision_config: {}, ...keys },
      "config.json",
    );
  assert.deepEqual(whole({}), parsed({}));
  assert.equal(whole({ tie_word_embeddings: false }).tiedEmbeddings, false);
  assert.throws(() => whole({ text_config: null }), /text_config is null; expected an object/);
  assert.throws(
    () => whole({ text_config: { ...json, model_type: "qwen3" } }),
    /text_config\.model_type is "qwen3"; expected qwen3_5_text/,
  );
});

Deno.test("qwen3.5: what cannot be is refused by the name of its key", () => {
  for (
    const [keys, message] of [
      [{ attn_output_gate: false }, /attn_output_gate is false/],
      [{ linear_num_value_heads: 6 }, /linear_num_value_heads is 6; the kernels need a multiple/],
      [{ linear_num_key_heads: 5 }, /value_heads 32 is no multiple of linear_num_key_heads 5/],
      [{ linear_key_head_dim: 10 }, /linear_key_head_dim is 10; the kernels need a multiple of 4/],
      [{ linear_value_head_dim: 512 }, /linear_value_head_dim is 512; supported are 256 at most/],
      [{ linear_conv_kernel_dim: 32 }, /linear_conv_kernel_dim is 32; supported are 16 at most/],
      [{ linear_conv_kernel_dim: "4" }, /linear_conv_kernel_dim is "4"; expected a positive/],
      [
        { layer_types: ["linear_attention"] },
        /layer_types is \["linear_attention"\]; expected full_attention or linear_attention for/,
      ],
      [{ full_attention_interval: 0 }, /full_attention_interval is 0; expected a positive integer/],
      [{ hidden_act: "gelu" }, /hidden_act is "gelu"; supported: silu/],
    ] as const
  ) assert.throws(() => parsed(keys), message);
});

Deno.test("qwen3.5: a DeltaNet is adapted where queries, keys and values all are", () => {
  const config = parsed({});
  const all = [
    ...["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"],
    ...["in_proj_qkv", "in_proj_z", "in_proj_b", "in_proj_a", "out_proj"],
  ];
  assert.deepEqual([...targetsIn(config, loraTargets)].toSorted(), all.toSorted());
  assert.deepEqual(targetsIn(config, ["q_proj", "v_proj"]), ["q_proj", "v_proj"]);
  assert.deepEqual(targetsIn(config, ["in_proj_qkv"]), ["in_proj_qkv"]);
});
