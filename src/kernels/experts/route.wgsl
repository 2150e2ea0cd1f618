// Which experts a token is sent to, and how much each of them counts (the router of Qwen3-MoE and OLMoE).
//
//   p[e] = exp(logits[e] - top) / sum exp(logits - top),   top = max logits
//   the `chosen` largest p, in descending order; of equal logits the lower expert comes first
//   weights[j] = scale * p[experts[j]], and NORMALISED divided by the sum of the chosen p: the sum is then over the
//   chosen alone, in the order of choice; without it, over all experts in ascending order
//
// BACKWARD, for what was chosen (the choice itself has no gradient), S the experts that are summed over:
//   dLogits[e] = p[e] * (d[e] - sum over S of p d) * scale,   d[e] the weight's gradient of a chosen expert, else 0
// and 0 for an expert outside S and in the padding. Sums over the chosen run in the order of choice.
//
// A lane has a token: its bits do not depend on the others. A token whose logits are NaN is sent to valid experts with
// weights that are NaN.

struct Params {
  tokens: u32,
  experts: u32,
  stride: u32,    // elements from one row of logits to the next
  chosen: u32,    // experts of a token
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
  let pairs = token * params.chosen;
  //#if !BACKWARD
  var last = 0.0;
  var lastExpert = 0u;
  for (var j = 0u; j < params.chosen; j++) {
    var best = params.experts;
    var bestLogit = 0.0;
    for (var e = 0u; e < params.experts; e++) {
      let logit = logits[row + e];
      let isLeft = j == 0u || logit < last || (logit == last && e > lastExpert);
      if (isLeft && (best == params.experts || logit > bestLogit)) {
        best = e;
        bestLogit = logit;
      }
    }
    // None is left where logits are NaN.
    lastExpert = select(best, 0u, best == params.experts);
    last = logits[row + lastExpert];
    experts[pairs + j] = lastExpert;
  }
  //#endif
  // The first chosen has the largest logit.
  let top = logits[row + experts[pairs]];
  var sum = 0.0;
  //#if NORMALISED
  for (var j = 0u; j < params.chosen; j++) {
    sum += exp(logits[row + experts[pairs + j]] - top);
  }
  //#else
  for (var e = 0u; e < params.experts; e++) {
    sum += exp(logits[row + e] - top);
  }
  //#endif
  //#if BACKWARD
  var mean = 0.0;
  for (var j = 0u; j < params.chosen; j++) {
    mean = fma(exp(logits[row + experts[pairs + j]] - top) / sum, dWeights[pairs + j], mean);
  }
  for (var e = 0u; e < params.stride; e++) {
    //#if NORMALISED
    dLogits[row + e] = 0.0;
    //#else
    dLogits[row + e] = select(
      0.0, -(exp(logits[row + e] - top) / sum) * mean * params.scale, e < params.experts);
    //#endif
  }
  for (var j = 0u; j < params.chosen; j++) {
    let e = experts[pairs + j];
    dLogits[row + e] = exp(logits[row + e] - top) / sum * (dWeights[pairs + j] - mean) * params.scale;
  }
  //#else
  for (var j = 0u; j < params.chosen; j++) {
    weights[pairs + j] = exp(logits[row + experts[pairs + j]] - top) / sum * params.scale;
  }
  //#endif
}
