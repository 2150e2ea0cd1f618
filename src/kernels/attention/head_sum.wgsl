// sums[t, d] = sum_h terms[t, first + h, d]   over the $HEADS heads of one QK-norm weight
//
// A lane owns four elements of a token and adds its heads in ascending order.

struct Params {
  tokens: u32,
  stride: u32,   // vectors of one token's terms
  first: u32,    // vectors before the first of the heads
  chunks: u32,   // vectors of a head, D / 4
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> terms: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> sums: array<vec4<f32>>;

@compute @workgroup_size($WORKGROUP)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_id) local: vec3<u32>,
) {
  let index = (group.y * groups.x + group.x) * $(WORKGROUP)u + local.x;
  let chunks = params.chunks;
  if (index >= params.tokens * chunks) { return; }
  let at = index / chunks * params.stride + params.first + index % chunks;
  var sum = terms[at];
  for (var h = 1u; h < $(HEADS)u; h++) {
    sum += terms[at + h * chunks];
  }
  sums[index] = sum;
}
