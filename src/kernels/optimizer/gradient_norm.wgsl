// Sum of squares and number of non-finite elements of a flat tensor, one partial per workgroup of 8192
// elements, in an order that depends on the tensor's size only.

struct Params {
  vectors: u32,
  groups: u32,
  firstPartial: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> gradients: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> partials: array<vec2<u32>>;  // (bits of the sum, count)

//#include gradient_norm_lanes

@compute @workgroup_size(64)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_id) local: vec3<u32>,
) {
  let index = group.y * groups.x + group.x;
  if (index >= params.groups) {
    return;
  }
  let lane = local.x;
  var squares = vec4<f32>(0.0);
  var bad = vec4<u32>(0u);
  for (var i = 0u; i < 32u; i++) {
    let at = index * 2048u + i * 64u + lane;
    if (at < params.vectors) {
      let g = gradients[at];
      squares = fma(g, g, squares);
      // By the bits: a compiler may assume that no value is NaN.
      let exponent = bitcast<vec4<u32>>(g) & vec4<u32>(0x7f800000u);
      bad += select(vec4<u32>(0u), vec4<u32>(1u), exponent == vec4<u32>(0x7f800000u));
    }
  }
  sums[lane] = (squares.x + squares.y) + (squares.z + squares.w);
  counts[lane] = bad.x + bad.y + bad.z + bad.w;
  fold(lane);
  if (lane == 0u) {
    partials[params.firstPartial + index] = vec2<u32>(bitcast<u32>(sums[0]), counts[0]);
  }
}
