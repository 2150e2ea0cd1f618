// Copies rows of the cache, of keys and of values (VALUES): row pairs[p].x to row pairs[p].y. A row may be copied to many; no row
// may be both read and written, or written twice. Out-of-range pairs are skipped.

struct Params {
  pairs: u32,
  vectors: u32,  // of $WORDS words, of one row
  rows: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> pairs: array<vec2<u32>>;
@group(0) @binding(2) var<storage, read_write> cacheKeys: array<vec$(WORDS)<u32>>;
//#if VALUES
@group(0) @binding(3) var<storage, read_write> cacheValues: array<vec$(WORDS)<u32>>;
//#endif

@compute @workgroup_size(64)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  let index = (group.y * groups.x + group.x) * 64u + lane;
  if (index >= params.pairs * params.vectors) { return; }
  let pair = pairs[index / params.vectors];
  if (pair.x >= params.rows || pair.y >= params.rows) { return; }
  let vector = index % params.vectors;
  let source = pair.x * params.vectors + vector;
  let place = pair.y * params.vectors + vector;
  cacheKeys[place] = cacheKeys[source];
  //#if VALUES
  cacheValues[place] = cacheValues[source];
  //#endif
}
