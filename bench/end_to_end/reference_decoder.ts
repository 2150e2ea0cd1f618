import type { ModelConfig } from "../../src/model/decoder/config.ts";
import type { NamedWeights } from "../../src/model/decoder/parameters.ts";

/**
 * A Llama decoder in float64, one token after another: the plain statement of a rollout.
 *
 * @param tokens [T]
 * @returns [T - 1] log-prob of each token but the first, given those before it
 */
export function referenceLogProbs(
  config: ModelConfig,
  weights: NamedWeights,
  tokens: Uint32Array,
): Float64Array {
  const { layers, heads, kvHeads, headDim, normEpsilon, hiddenSize: width } = config;
  const embedding = weights["model.embed_tokens.weight"];
  const head = config.tiedEmbeddings ? embedding : weights["lm_head.weight"];
  const keys: Float64Array[][] = Array.from({ length: layers }, () => []);
  const values: Float64Array[][] = Array.from({ length: layers }, () => []);
  const logProbs = new Float64Array(tokens.length - 1);
  for (let position = 0; position < logProbs.length; position++) {
    const token = tokens[position];
    let x = Float64Array.from(embedding.subarray(token * width, (token + 1) * width));
    for (let layer = 0; layer < layers; layer++) {
      const weight = (name: string) => weights[`model.layers.${layer}.${name}.weight`];
      const normed = norm(x, weight("input_layernorm"), normEpsilon);
      const queries = linear(weight("self_attn.q_proj"), normed);
      const newKeys = linear(weight("self_attn.k_proj"), normed);
      rotate(queries, position, config);
      rotate(newKeys, position, config);
      keys[layer].push(newKeys);
      values[layer].push(linear(weight("self_attn.v_proj"), normed));
      const attended = new Float64Array(heads * headDim);
      for (let h = 0; h < heads; h++) {
        const query = queries.subarray(h * headDim, (h + 1) * headDim);
        const at = Math.floor(h * kvHeads / heads) * headDim;
        const scores = Float64Array.from(
          keys[layer],
          (key) => query.reduce((sum, q, d) => sum + q * key[at + d], 0) / Math.sqrt(headDim),
        );
        const total = logSumExp(scores);
        values[layer].forEach((value, t) => {
          const share = Math.exp(scores[t] - total);
          for (let d = 0; d < headDim; d++) attended[h * headDim + d] += share * value[at + d];
        });
      }
      x = add(x, linear(weight("self_attn.o_proj"), attended));
      const inner = norm(x, weight("post_attention_layernorm"), normEpsilon);
      const up = linear(weight("mlp.up_proj"), inner);
      const gated = linear(weight("mlp.gate_proj"), inner)
        .map((gate, i) => gate / (1 + Math.exp(-gate)) * up[i]);
      x = add(x, linear(weight("mlp.down_proj"), gated));
    }
    const logits = linear(head, norm(x, weights["model.norm.weight"], normEpsilon));
    logProbs[position] = logits[tokens[position + 1]] - logSumExp(logits);
  }
  return logProbs;
}

/** y = W x, W [rows, x.length]. */
function linear(weight: Float32Array, x: Float64Array): Float64Array<ArrayBuffer> {
  const y = new Float64Array(weight.length / x.length);
  for (let row = 0, at = 0; row < y.length; row++) {
    for (let i = 0; i < x.length; i++) y[row] += weight[at++] * x[i];
  }
  return y;
}

function norm(x: Float64Array, weight: Float32Array, epsilon: number): Float64Array {
  const meanSquare = x.reduce((sum, value) => sum + value * value, 0) / x.length;
  return x.map((value, i) => value / Math.sqrt(meanSquare + epsilon) * weight[i]);
}

function add(a: Float64Array, b: Float64Array): Float64Array<ArrayBuffer> {
  return Float64Array.from(a, (value, i) => value + b[i]);
}

function logSumExp(x: Float64Array): number {
  const top = x.reduce((a, b) => Math.max(a, b));
  return top + Math.log(x.reduce((sum, value) => sum + Math.exp(value - top), 0));
}

/** Rotary positions, halves convention, in place. */
function rotate(x: Float64Array, position: number, { headDim, kinds }: ModelConfig): void {
  const [{ rotation: { theta } }] = kinds;
  for (let start = 0; start < x.length; start += headDim) {
    for (let i = start; i < start + headDim / 2; i++) {
      const angle = position * theta ** (-2 * (i - start) / headDim);
      const [first, second] = [x[i], x[i + headDim / 2]];
      x[i] = first * Math.cos(angle) - second * Math.sin(angle);
      x[i + headDim / 2] = second * Math.cos(angle) + first * Math.sin(angle);
    }
  }
}
