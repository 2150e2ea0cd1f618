// PPO-clip surrogate, KL penalty and entropy bonus of each response token, and their derivatives.
//
//   loss = sum of weight * (surrogate + klCoefficient * kl - entropyCoefficient * entropy)
//   ratio = exp(logProb - oldLogProb),  bound = clip(ratio, 1 - clipRatioLow, 1 + clipRatioHigh)
//   OBJECTIVE importance_sampling: surrogate = -ratio * A
//   OBJECTIVE ppo:                 surrogate = -min(ratio * A, bound * A)
//   OBJECTIVE cispo:               surrogate = -bound * A * logProb, bound taken as a constant (arXiv 2506.13585)
//   r = refLogProb - logProb, in k3 at most 10
//   KL k2: kl = r^2 / 2    KL k3: kl = exp(r) - r - 1    KL none: no reference
//
// One token that the policy has all but given up, and the reference has not, would by exp(r) outweigh a whole
// batch, or overflow; beyond 10 nats the term is a constant without gradient, as torch.clamp has it. On the
// other side exp(r) vanishes, the gradient stays below 1, and nothing is clipped.
//
// A row of weight 0 gives zeros, whatever else it holds.

struct Params {
  rows: u32,
  clipRatioLow: f32,
  clipRatioHigh: f32,
  klCoefficient: f32,
  entropyCoefficient: f32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> logProbs: array<f32>;
@group(0) @binding(2) var<storage, read> oldLogProbs: array<f32>;
@group(0) @binding(3) var<storage, read> advantages: array<f32>;
@group(0) @binding(4) var<storage, read> tokenWeights: array<f32>;
@group(0) @binding(5) var<storage, read_write> logProbGradient: array<f32>;
@group(0) @binding(6) var<storage, read_write> entropyGradient: array<f32>;
@group(0) @binding(7) var<storage, read_write> statistics: array<vec4<f32>>;
//#if KL != "none"
@group(0) @binding(8) var<storage, read> refLogProbs: array<f32>;
//#endif

//#if KL == "k3"
// exp(x) - 1 - x without cancellation near 0, where a policy close to its reference lives.
fn exponentialRemainder(x: f32) -> f32 {
  let series = x * x * fma(x, fma(x, fma(x, fma(x, 1.0 / 720.0, 1.0 / 120.0), 1.0 / 24.0), 1.0 / 6.0), 0.5);
  return select(exp(x) - 1.0 - x, series, abs(x) < 0.25);
}
//#endif

@compute @workgroup_size(64)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_id) local: vec3<u32>,
) {
  let row = (group.y * groups.x + group.x) * 64u + local.x;
  if (row >= params.rows) {
    return;
  }
  let weight = tokenWeights[row];
  if (weight == 0.0) {
    logProbGradient[row] = 0.0;
    entropyGradient[row] = 0.0;
    statistics[row] = vec4<f32>(0.0);
    return;
  }
  let logProb = logProbs[row];
  let advantage = advantages[row];
  let logRatio = logProb - oldLogProbs[row];
  // On-policy the ratio is 1, not the driver's exp(0).
  let ratio = select(exp(logRatio), 1.0, logRatio == 0.0);
  //#if OBJECTIVE == "importance_sampling"
  let clipped = false;
  let loss = -(ratio * advantage);
  var gradient = loss;
  //#else
  let bound = clamp(ratio, 1.0 - params.clipRatioLow, 1.0 + params.clipRatioHigh);
  let bounded = bound * advantage;
  //#if OBJECTIVE == "cispo"
  let clipped = bound != ratio;
  let loss = -bounded * logProb;
  var gradient = -bounded;
  //#else
  let surrogate = ratio * advantage;
  let clipped = bounded < surrogate;
  let loss = -select(surrogate, bounded, clipped);
  var gradient = select(-surrogate, 0.0, clipped);
  //#endif
  //#endif
  var kl = 0.0;
  //#if KL != "none"
  let apart = refLogProbs[row] - logProb;
  //#endif
  //#if KL == "k2"
  kl = 0.5 * apart * apart;
  gradient -= params.klCoefficient * apart;
  //#endif
  //#if KL == "k3"
  let r = min(apart, 10.0);
  kl = exponentialRemainder(r);
  gradient -= select(params.klCoefficient * (kl + r), 0.0, apart > 10.0);
  //#endif
  logProbGradient[row] = weight * gradient;
  entropyGradient[row] = -weight * params.entropyCoefficient;
  statistics[row] = vec4<f32>(loss, kl, ratio, select(0.0, 1.0, clipped));
}
