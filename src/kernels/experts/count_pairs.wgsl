// counts[e] += the pairs of expert e, from the offsets of group_pairs.wgsl. A lane has an expert.

struct Params {
  experts: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> offsets: array<u32>;
@group(0) @binding(2) var<storage, read_write> counts: array<u32>;

@compute @workgroup_size($LANES)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x >= params.experts) { return; }
  counts[id.x] += offsets[id.x + 1u] - offsets[id.x];
}
