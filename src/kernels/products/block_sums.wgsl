// c[i] = (((c[i] + sums[0][i]) + sums[1][i]) + …), the sums of blocks of tokens in ascending order, four elements a lane.

struct Params {
  vectors: u32,
  blocks: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> sums: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> c: array<vec4<f32>>;

@compute @workgroup_size($LANES)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_id) local: vec3<u32>,
) {
  let i = (group.y * groups.x + group.x) * $(LANES)u + local.x;
  if (i >= params.vectors) {
    return;
  }
  var sum = c[i];
  for (var n = 0u; n < params.blocks; n++) {
    sum += sums[n * params.vectors + i];
  }
  c[i] = sum;
}
