// Norm, clip scale and count of non-finite elements from the partials of gradient_norm.wgsl.

struct Params {
  partialCount: u32,
  maxGradientNorm: f32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> partials: array<vec2<u32>>;
@group(0) @binding(2) var<storage, read_write> norm: array<f32>;
@group(0) @binding(3) var<storage, read_write> clipScale: array<f32>;
@group(0) @binding(4) var<storage, read_write> nonFinite: array<u32>;

//#include gradient_norm_lanes

@compute @workgroup_size(64)
fn main(@builtin(local_invocation_id) local: vec3<u32>) {
  let lane = local.x;
  var sum = 0.0;
  var count = 0u;
  for (var i = lane; i < params.partialCount; i += 64u) {
    let partial = partials[i];
    sum += bitcast<f32>(partial.x);
    count += partial.y;
  }
  sums[lane] = sum;
  counts[lane] = count;
  fold(lane);
  if (lane == 0u) {
    let result = sqrt(sums[0]);
    let overflow = (bitcast<u32>(sums[0]) & 0x7f800000u) == 0x7f800000u;
    norm[0] = result;
    // An overflow of finite elements counts as one, so that whoever reads the count knows of the skip.
    let bad = select(counts[0], max(counts[0], 1u), overflow);
    nonFinite[0] = bad;
    clipScale[0] = select(min(1.0, params.maxGradientNorm / (result + 1e-6)), 0.0, bad > 0u);
  }
}
