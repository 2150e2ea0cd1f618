/** Mixtures of experts in a config.json. A tenth of a second. */

import assert from "node:assert/strict";
import { loraTargets, targetsIn, targetsOf } from "../../../../src/model/decoder/lora.ts";
import { parseModelConfig } from "../../../../src/model/weights/config/config_json.ts";

const sizes = {
  vocab_size: 100,
  hidden_size: 64,
  intermediate_size: 96,
  num_hidden_layers: 4,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  num_experts_per_tok: 3,
};
const qwen3 = { ...sizes, model_type: "qwen3_moe", num_experts: 7, moe_intermediate_size: 32 };
const olmoe = { ...sizes, model_type: "olmoe", num_experts: 7 };
const lfm2 = {
  ...{ ...sizes, model_type: "lfm2_moe", num_experts: 8, moe_intermediate_size: 32 },
  layer_types: ["conv", "full_attention", "conv", "conv"],
};
const qwen35 = {
  ...{ ...sizes, model_type: "qwen3_5_moe_text", num_experts: 7, intermediate_size: undefined },
  ...{ moe_intermediate_size: 32, shared_expert_intermediate_size: 32, head_dim: 32 },
};
const parsed = (keys: object) => parseModelConfig(keys, "config.json");
const experts = (keys: object) => parsed(keys).kinds.map(({ experts }) => experts?.count ?? 0);

Deno.test("experts: which layers have them", () => {
  assert.deepEqual(experts(qwen3), [7]);
  assert.deepEqual(experts({ ...qwen3, num_experts: undefined, num_local_experts: 5 }), [5]);
  assert.deepEqual(experts({ ...qwen3, decoder_sparse_step: 2 }), [0, 7, 0, 7]);
  assert.deepEqual(experts({ ...qwen3, mlp_only_layers: [1, 9] }), [7, 0, 7, 7]);
  assert.deepEqual(experts(olmoe), [7]);
  assert.deepEqual(experts(qwen35), [7, 7, 7, 7]);
  assert.deepEqual(experts(lfm2), [0, 0, 8, 8]);
  assert.deepEqual(experts({ ...lfm2, num_dense_layers: 0 }), [8, 8, 8, 8]);
});

Deno.test("experts: what a config.json leaves out is as transformers has it", () => {
  const plain = {
    ...{ count: 7, chosen: 3, scores: "softmax" },
    biased: false,
    scale: 1,
    shared: false,
  };
  const [ofQwen3] = parsed(qwen3).kinds, [ofOlmoe] = parsed(olmoe).kinds;
  assert.deepEqual(ofQwen3.experts, { ...plain, innerSize: 32, normalised: false });
  assert.deepEqual(ofOlmoe.experts, { ...plain, innerSize: 96, normalised: false });
  assert.equal(parsed(olmoe).normEpsilon, 1e-5);
  assert.deepEqual(parsed(lfm2).kinds[3].experts, {
    ...{ ...plain, count: 8, innerSize: 32, normalised: true },
    ...{ scores: "sigmoid", biased: true },
  });
  const [ofQwen35] = parsed(qwen35).kinds;
  assert.deepEqual(ofQwen35.experts, { ...plain, innerSize: 32, normalised: true, shared: true });
  assert.equal(parsed(qwen35).intermediateSize, 32);
});

Deno.test("experts: what cannot be is refused by the name of its key", () => {
  for (
    const [keys, message] of [
      [{ ...qwen3, num_experts: undefined }, /num_experts is undefined; expected a positive/],
      [{ ...qwen3, num_experts: 2 ** 31 }, /num_experts is 2147483648; supported are 1024 at most/],
      [{ ...qwen3, num_experts: 2 }, /num_experts_per_tok is 3, more than the 2 of num_experts/],
      [{ ...qwen3, moe_intermediate_size: 30 }, /moe_intermediate_size is 30; the kernels need/],
      [{ ...qwen3, norm_topk_prob: 1 }, /norm_topk_prob is 1; expected true or false/],
      [{ ...qwen3, mlp_only_layers: [-1] }, /mlp_only_layers is \[-1\]; expected a list of layers/],
      [{ ...qwen3, use_sliding_window: true }, /use_sliding_window is true/],
      [
        { ...qwen35, shared_expert_intermediate_size: 64 },
        /shared_expert_intermediate_size is 64; supported is the moe_intermediate_size .*, 32/,
      ],
      [
        { ...qwen35, shared_expert_intermediate_size: undefined },
        /shared_expert_intermediate_size is undefined; expected a positive/,
      ],
      [{ ...olmoe, clip_qkv: 8 }, /clip_qkv is 8; expected null/],
      [{ ...olmoe, head_dim: 8 }, /head_dim is 8; expected 16, hidden_size \/ num_attention_heads/],
      [{ ...lfm2, num_dense_layers: -1 }, /num_dense_layers is -1; expected a number of layers/],
      [{ ...lfm2, num_experts: 7 }, /there are 7 experts; with use_expert_bias the kernels need/],
      [{ ...lfm2, routed_scaling_factor: 0 }, /routed_scaling_factor is 0; expected a positive/],
    ] as const
  ) assert.throws(() => parsed(keys), message);
});

Deno.test("experts: an adapter changes their projections and those of layers without any", () => {
  const attention = ["q_proj", "k_proj", "v_proj", "o_proj"] as const;
  const ofExperts = ["experts.gate_proj", "experts.up_proj", "experts.down_proj"] as const;
  for (const config of [parsed(qwen3), parsed(olmoe)]) {
    assert.deepEqual(targetsOf(config), [...attention, ...ofExperts]);
    assert.deepEqual(targetsIn(config, loraTargets), [...attention, ...ofExperts]);
    assert.deepEqual(targetsIn(config, ["q_proj"]), ["q_proj"]);
    assert.deepEqual(targetsIn(config, ["down_proj"]), ["experts.down_proj"]);
    for (const one of ["gate_proj", "up_proj"] as const) {
      assert.throws(
        () => targetsIn(config, ["q_proj", one]),
        /gate_proj and up_proj of experts are one tensor for PEFT; name both as targets, or neither/,
      );
    }
  }
  const between = parsed({ ...qwen3, decoder_sparse_step: 2 });
  assert.deepEqual(targetsIn(between, loraTargets), [...loraTargets, ...ofExperts]);
  const mixed = parsed(lfm2);
  assert.deepEqual(targetsIn(mixed, ["down_proj"]), ["w2", "experts.down_proj"]);
  assert.deepEqual(targetsIn(mixed, loraTargets), targetsOf(mixed));
  assert.deepEqual(targetsOf(mixed), [
    ...["q_proj", "k_proj", "v_proj", "in_proj", "out_proj", "w1", "w3", "w2"],
    ...ofExperts,
  ]);
  assert.throws(() => targetsIn(mixed, ["qkv_proj"]), /the model has no qkv_proj/);
  // Beside an expert that all tokens share.
  const shared = parsed(qwen35);
  assert.deepEqual(targetsIn(shared, ["q_proj", "gate_proj", "up_proj", "down_proj"]), [
    "q_proj",
    ...ofExperts,
  ]);
});
