// target_sum[i] = addend[i] + target_sum[i], four elements a lane.

struct Params {
  vectors: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> addend: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> target_sum: array<vec4<f32>>;

@compute @workgroup_size(64)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_id) local: vec3<u32>,
) {
  let i = (group.y * groups.x + group.x) * 64u + local.x;
  if (i < params.vectors) {
    target_sum[i] = addend[i] + target_sum[i];
  }
}
