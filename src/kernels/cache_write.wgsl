// Copies key and value rows of packed tokens into the cache: row pairs[p].x to cache row pairs[p].y.
// A token may be copied to many rows; no cache row may be written twice. Out-of-range pairs are skipped.

struct Params {
  pairs: u32,
  vectors: u32,    // of one row: KV * D / 4
  tokens: u32,
  cacheRows: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> keys: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> values: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> pairs: array<vec2<u32>>;
@group(0) @binding(4) var<storage, read_write> cacheKeys: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read_write> cacheValues: array<vec4<f32>>;

@compute @workgroup_size(64)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  let index = (group.y * groups.x + group.x) * 64u + lane;
  if (index >= params.pairs * params.vectors) { return; }
  let pair = pairs[index / params.vectors];
  if (pair.x >= params.tokens || pair.y >= params.cacheRows) { return; }
  let vector = index % params.vectors;
  let source = pair.x * params.vectors + vector;
  let place = pair.y * params.vectors + vector;
  cacheKeys[place] = keys[source];
  cacheValues[place] = values[source];
}
