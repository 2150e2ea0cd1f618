import assert from "node:assert/strict";
import { loraBlocks, loraTargets, targetsIn } from "../../../../src/model/decoder/lora.ts";
import { parseModelConfig } from "../../../../src/model/weights/config/config_json.ts";

/** As LFM2's files have it: sizes by older names, and layers by the indices of those that attend. */
const json = {
  model_type: "lfm2",
  vocab_size: 100,
  hidden_size: 64,
  block_ff_dim: 6656,
  num_hidden_layers: 4,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  full_attn_idxs: [2],
};
const parsed = (keys: object) => parseModelConfig({ ...json, ...keys }, "config.json");

Deno.test("lfm2: what its config.json leaves out is as transformers has it", () => {
  const config = parsed({});
  assert.equal(config.intermediateSize, 4608);
  assert.equal(config.normEpsilon, 1e-5);
  assert.equal(config.maxPositions, 128_000);
  assert.equal(config.tiedEmbeddings, true);
  assert.deepEqual(config.kinds.map(({ taps }) => taps), [3, 3, undefined, 3]);
  assert.equal(config.kinds[2].rotation.theta, 1_000_000);
  assert.equal(parsed({ theta: 5000 }).kinds[2].rotation.theta, 5000);
  assert.equal(parsed({ tie_embedding: false, tie_word_embeddings: true }).tiedEmbeddings, false);
  const attending = parsed({ full_attn_idxs: undefined });
  assert.deepEqual(attending.kinds.map(({ taps }) => taps), [undefined]);
});

Deno.test("lfm2: the feed-forward block's width is adjusted as its keys say", () => {
  const adjusted = parsed({ block_multiple_of: 64, block_ffn_dim_multiplier: 1.5 });
  assert.equal(adjusted.intermediateSize, 6656);
  assert.equal(parsed({ block_auto_adjust_ff_dim: false }).intermediateSize, 6656);
});

Deno.test("lfm2: what cannot be is refused by the name of its key", () => {
  for (
    const [keys, message] of [
      [{ conv_bias: true }, /conv_bias is true/],
      [{ conv_L_cache: 0 }, /conv_L_cache is 0; expected a positive integer/],
      [{ theta: 5000, rope_theta: 6000 }, /theta is 5000 and rope_theta 6000/],
      [
        { full_attn_idxs: ["2"] },
        /full_attn_idxs is \["2"\]; expected a list of layers from 0 to 3/,
      ],
      [{ full_attn_idxs: [4] }, /full_attn_idxs is \[4\]; expected/],
      [{ full_attn_idxs: 2 }, /full_attn_idxs is 2; expected/],
      [
        { layer_types: ["conv"] },
        /layer_types is \["conv"\]; expected full_attention or conv for each/,
      ],
      [{ block_ff_dim: null }, /block_ff_dim is .*; expected a positive integer/],
      [{ block_multiple_of: 0.5 }, /block_multiple_of is 0\.5; expected a positive integer/],
    ] as const
  ) assert.throws(() => parsed(keys), message);
});

Deno.test("lfm2: a convolution is adapted where queries, keys and values all are, unless a file says otherwise", () => {
  const config = parsed({});
  const all = ["q_proj", "k_proj", "v_proj", "in_proj", "out_proj", "w1", "w3", "w2"] as const;
  assert.deepEqual([...targetsIn(config, loraTargets)].toSorted(), [...all].toSorted());
  assert.deepEqual(targetsIn(config, ["q_proj", "v_proj"]), ["q_proj", "v_proj"]);
  assert.deepEqual(targetsIn(config, ["o_proj"]), ["out_proj"]);
  assert.deepEqual(targetsIn(config, ["in_proj"]), ["in_proj"]);
  assert.throws(() => targetsIn(config, ["qkv_proj"]), /the model has no qkv_proj/);
  const names = (targets: readonly (typeof all)[number][]) =>
    loraBlocks(config, { rank: 4, alpha: 8, targets })
      .flatMap(({ tensors }) => tensors.map(({ name }) => name))
      .filter((name) => name.endsWith("lora_A.weight"))
      .map((name) => name.replace(/^base_model\.model\.model\.layers\.|\.lora_A\.weight$/g, ""));
  // PEFT's own adapter on attention has none on the convolutions.
  assert.deepEqual(names(["q_proj", "k_proj", "v_proj"]), [
    "2.self_attn.q_proj",
    "2.self_attn.k_proj",
    "2.self_attn.v_proj",
  ]);
  assert.deepEqual(names(["out_proj"]), [
    "0.conv.out_proj",
    "1.conv.out_proj",
    "2.self_attn.out_proj",
    "3.conv.out_proj",
  ]);
});
