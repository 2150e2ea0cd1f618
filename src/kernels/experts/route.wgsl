// Which experts a token is sent to, and how much each of them counts. Scores of expert e:
//
//   softmax          p[e] = exp(logits[e] - top) / sum exp(logits - top),   top = max logits   (Qwen3-MoE, OLMoE)
//   SIGMOID          p[e] = 1 / (1 + exp(-logits[e]))                                          (LFM2-MoE)
//
// SHARED: behind them is one more, which every token takes last, with scale / (1 + exp(-logit)) for a weight  (Qwen3.5-MoE).
//
// The `chosen` largest are taken in descending order, of p, or BIASED of p + bias; of equal ones the lower comes first.
// weights[j] = scale * p[experts[j]], NORMALISED by the sum of the chosen p: of softmax the sum above is then over the
// chosen alone, in the order of choice, and of SIGMOID p is divided by their sum + 1e-6. Other sums over experts run in
// ascending order.
//
// BACKWARD, for what was chosen (the choice itself has no gradient), d[e] the weight's gradient of a chosen expert, else 0:
//   softmax          dLogits[e] = p[e] * (d[e] - sum of p d) * scale, over the chosen where NORMALISED, else over all
//   SIGMOID          dLogits[e] = ds * p[e] * (1 - p[e]) * scale,   ds = d[e], or NORMALISED (d[e] - sum of w d) / sum
//                    for w = p / sum
// and 0 elsewhere and in the padding. Sums over the chosen run in the order of choice.
//
// A lane has a token: its bits do not depend on the others. A token whose logits are NaN is sent to valid experts with
// weights that are NaN.

struct Params {
  tokens: u32,
  experts: u32,
  stride: u32,    // elements from one row of logits to the next
  chosen: u32,    // experts of a token, without the one that all share
  scale: f32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> logits: array<f32>;
//#if BACKWARD
@group(0) @binding(2) var<storage, read> experts: array<u32>;
@group(0) @binding(3) var<storage, read> dWeights: array<f32>;
@group(0) @binding(4) var<storage, read_write> dLogits: array<f32>;
//#else
@group(0) @binding(2) var<storage, read_write> experts: array<u32>;
@group(0) @binding(3) var<storage, read_write> weights: array<f32>;
//#if BIASED
@group(0) @binding(4) var<storage, read> bias: array<f32>;
//#endif
//#endif

fn sigmoid(x: f32) -> f32 {
  return 1.0 / (1.0 + exp(-x));
}

// What scores are compared by, and of SIGMOID the score itself.
fn scoreOf(logit: f32) -> f32 {
  //#if SIGMOID
  return sigmoid(logit);
  //#else
  return logit;
  //#endif
}
//#if !BACKWARD

fn rankOf(row: u32, e: u32) -> f32 {
  //#if BIASED
  return scoreOf(logits[row + e]) + bias[e];
  //#else
  return scoreOf(logits[row + e]);
  //#endif
}
//#endif

@compute @workgroup_size($LANES)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) local: u32,
) {
  let token = (group.y * groups.x + group.x) * $(LANES)u + local;
  if (token >= params.tokens) { return; }
  let row = token * params.stride;
  //#if SHARED
  let pairs = token * (params.chosen + 1u);
  //#else
  let pairs = token * params.chosen;
  //#endif
  //#if !BACKWARD
  var last = 0.0;
  var lastExpert = 0u;
  for (var j = 0u; j < params.chosen; j++) {
    var best = params.experts;
    var bestRank = 0.0;
    for (var e = 0u; e < params.experts; e++) {
      let rank = rankOf(row, e);
      let isLeft = j == 0u || rank < last || (rank == last && e > lastExpert);
      if (isLeft && (best == params.experts || rank > bestRank)) {
        best = e;
        bestRank = rank;
      }
    }
    // None is left where logits are NaN.
    lastExpert = select(best, 0u, best == params.experts);
    last = rankOf(row, lastExpert);
    experts[pairs + j] = lastExpert;
  }
  //#endif
  var sum = 0.0;
  //#if SIGMOID
  for (var j = 0u; j < params.chosen; j++) {
    sum += scoreOf(logits[row + experts[pairs + j]]);
  }
  sum += 1.0e-6;
  //#else
  // The first chosen has the largest logit.
  let top = logits[row + experts[pairs]];
  //#if NORMALISED
  for (var j = 0u; j < params.chosen; j++) {
    sum += exp(logits[row + experts[pairs + j]] - top);
  }
  //#else
  for (var e = 0u; e < params.experts; e++) {
    sum += exp(logits[row + e] - top);
  }
  //#endif
  //#endif
  //#if BACKWARD
  var mean = 0.0;
  //#if !SIGMOID || NORMALISED
  for (var j = 0u; j < params.chosen; j++) {
    let logit = logits[row + experts[pairs + j]];
    //#if SIGMOID
    let share = scoreOf(logit) / sum;
    //#else
    let share = exp(logit - top) / sum;
    //#endif
    mean = fma(share, dWeights[pairs + j], mean);
  }
  //#endif
  for (var e = 0u; e < params.stride; e++) {
    //#if SIGMOID || NORMALISED
    dLogits[row + e] = 0.0;
    //#else
    dLogits[row + e] = select(
      0.0, -(exp(logits[row + e] - top) / sum) * mean * params.scale, e < params.experts);
    //#endif
  }
  for (var j = 0u; j < params.chosen; j++) {
    let e = experts[pairs + j];
    let d = dWeights[pairs + j] - mean;
    //#if SIGMOID
    let score = scoreOf(logits[row + e]);
    let slope = score * (1.0 - score) * params.scale;
    //#if NORMALISED
    dLogits[row + e] = d / sum * slope;
    //#else
    dLogits[row + e] = d * slope;
    //#endif
    //#else
    dLogits[row + e] = exp(logits[row + e] - top) / sum * d * params.scale;
    //#endif
  }
  //#if SHARED
  let score = sigmoid(logits[row + params.experts]);
  dLogits[row + params.experts] = dWeights[pairs + params.chosen] * (score * (1.0 - score) * params.scale);
  //#endif
  //#else
  for (var j = 0u; j < params.chosen; j++) {
    let logit = logits[row + experts[pairs + j]];
    //#if SIGMOID && NORMALISED
    weights[pairs + j] = scoreOf(logit) / sum * params.scale;
    //#else
    //#if SIGMOID
    weights[pairs + j] = scoreOf(logit) * params.scale;
    //#else
    weights[pairs + j] = exp(logit - top) / sum * params.scale;
    //#endif
    //#endif
  }
  //#if SHARED
  experts[pairs + params.chosen] = params.experts;
  weights[pairs + params.chosen] = sigmoid(logits[row + params.experts]) * params.scale;
  //#endif
  //#endif
}
