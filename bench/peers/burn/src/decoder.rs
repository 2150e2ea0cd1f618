//! A Llama decoder of burn's own operations.

use std::collections::BTreeMap;

use burn::tensor::activation::silu;
use burn::tensor::module::attention;
use burn::tensor::ops::AttentionModuleOptions;
use burn::tensor::{Device, Int, Tensor};
use serde::Deserialize;

/// As in bench/shapes.json.
#[derive(Deserialize, Clone)]
#[serde(rename_all = "camelCase")]
pub struct ModelShape {
    pub layers: usize,
    pub heads: usize,
    pub kv_heads: usize,
    pub head_dim: usize,
    pub rope_theta: f32,
    pub norm_epsilon: f64,
}

/// Matrices [out, in] by their Hugging Face names; the weights of norms are [1, width].
pub type Parameters = BTreeMap<String, Tensor<2>>;

/// Cosines and sines of the rotary positions, [1, 1, T, D / 2] each.
pub struct RopeTables {
    cosines: Tensor<4>,
    sines: Tensor<4>,
}

impl RopeTables {
    /// Of the first `length` positions.
    pub fn new(shape: &ModelShape, length: usize, device: &Device) -> Self {
        let half = shape.head_dim / 2;
        let exponents = Tensor::<1, Int>::arange(0..half as i64, device).float().div_scalar(half as f32);
        let frequencies = exponents.mul_scalar(-shape.rope_theta.ln()).exp().reshape([1, half]);
        let positions = Tensor::<1, Int>::arange(0..length as i64, device).float().reshape([length, 1]);
        let angles = positions.matmul(frequencies).reshape([1, 1, length, half]);
        Self { cosines: angles.clone().cos(), sines: angles.sin() }
    }

    /// Rotates [N, H, T, D]; the halves of a head belong together.
    fn rotate(&self, x: Tensor<4>) -> Tensor<4> {
        let half = x.dims()[3] / 2;
        let first = x.clone().slice_dim(3, 0..half);
        let second = x.slice_dim(3, half..2 * half);
        let (cosines, sines) = (self.cosines.clone(), self.sines.clone());
        let turned = first.clone() * cosines.clone() - second.clone() * sines.clone();
        Tensor::cat(vec![turned, second * cosines + first * sines], 3)
    }
}

/// Logits [N T, V] of N sequences of T tokens, which lie one after the other in `tokens` [N T].
pub fn logits(shape: &ModelShape, weights: &Parameters, rope: &RopeTables, tokens: Tensor<1, Int>, length: usize) -> Tensor<2> {
    let weight = |name: &str| weights[name].clone();
    let embedding = weight("model.embed_tokens.weight");
    let mut x = embedding.clone().select(0, tokens);
    for layer in 0..shape.layers {
        let own = |name: &str| weight(&format!("model.layers.{layer}.{name}.weight"));
        let normed = norm(shape, x.clone(), own("input_layernorm"));
        let heads = |name: &str, heads: usize| {
            linear(normed.clone(), own(name)).reshape([-1, length as i32, heads as i32, shape.head_dim as i32]).swap_dims(1, 2)
        };
        let queries = rope.rotate(heads("self_attn.q_proj", shape.heads));
        let keys = for_queries(shape, rope.rotate(heads("self_attn.k_proj", shape.kv_heads)));
        let values = for_queries(shape, heads("self_attn.v_proj", shape.kv_heads));
        let options = AttentionModuleOptions { is_causal: true, ..Default::default() };
        let attended = attention(queries, keys, values, None, None, options);
        let attended = attended.swap_dims(1, 2).reshape([-1, (shape.heads * shape.head_dim) as i32]);
        x = x + linear(attended, own("self_attn.o_proj"));
        let normed = norm(shape, x.clone(), own("post_attention_layernorm"));
        let gated = silu(linear(normed.clone(), own("mlp.gate_proj"))) * linear(normed, own("mlp.up_proj"));
        x = x + linear(gated, own("mlp.down_proj"));
    }
    linear(norm(shape, x, weight("model.norm.weight")), embedding)
}

fn linear(x: Tensor<2>, weight: Tensor<2>) -> Tensor<2> {
    x.matmul(weight.transpose())
}

fn norm(shape: &ModelShape, x: Tensor<2>, weight: Tensor<2>) -> Tensor<2> {
    let size = (x.clone().square().mean_dim(1) + shape.norm_epsilon).sqrt();
    x / size * weight
}

/// Gives each query head the key or value head that it shares: [N, KV, T, D] to [N, H, T, D].
fn for_queries(shape: &ModelShape, x: Tensor<4>) -> Tensor<4> {
    let [sequences, kv_heads, length, width] = x.dims();
    let group = shape.heads / kv_heads;
    x.unsqueeze_dim::<5>(2)
        .expand([sequences, kv_heads, group, length, width])
        .reshape([sequences, shape.heads, length, width])
}
