// PPO-clip surrogate, KL penalty and entropy bonus of each response token, and their derivatives.
//
//   loss = sum of weight * (surrogate + klCoefficient * kl - entropyCoefficient * entropy)
//   ratio = exp(logProb - oldLogProb),  r = refLogProb - logProb,  bound = clip(ratio, 1 - clipLow, 1 + clipHigh)
//   CISPO false: surrogate = -min(ratio * A, bound * A)
//   CISPO true:  surrogate = -bound * A * logProb, bound taken as a constant (arXiv 2506.13585)
//   KL 1: kl = -r    KL 2: kl = r^2 / 2    KL 3: kl = exp(r) - r - 1    KL 0: no reference
//
// A row of weight 0 gives zeros, whatever else it holds.

struct Params {
  rows: u32,
  clipLow: f32,
  clipHigh: f32,
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
//#if KL > 0
@group(0) @binding(8) var<storage, read> refLogProbs: array<f32>;
//#endif

//#if KL == 3
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
  let bound = clamp(ratio, 1.0 - params.clipLow, 1.0 + params.clipHigh);
  let bounded = bound * advantage;
  //#if CISPO
  let clipped = bound != ratio;
  let loss = -bounded * logProb;
  var gradient = -bounded;
  //#else
  let surrogate = ratio * advantage;
  let clipped = bounded < surrogate;
  let loss = -select(surrogate, bounded, clipped);
  var gradient = select(-surrogate, 0.0, clipped);
  //#endif
  var kl = 0.0;
  //#if KL > 0
  let r = refLogProbs[row] - logProb;
  //#endif
  //#if KL == 1
  kl = -r;
  gradient += params.klCoefficient;
  //#endif
  //#if KL == 2
  kl = 0.5 * r * r;
  gradient -= params.klCoefficient * r;
  //#endif
  //#if KL == 3
  kl = exponentialRemainder(r);
  gradient -= params.klCoefficient * (kl + r);
  //#endif
  logProbGradient[row] = weight * gradient;
  entropyGradient[row] = -weight * params.entropyCoefficient;
  statistics[row] = vec4<f32>(loss, kl, ratio, select(0.0, 1.0, clipped));
}
