// Queries, keys and values [T, (H + 2 KV) D] of rows in which a gate stands behind each query, [T, (2 H + 2 KV) D]:
//
//   JOIN false  qkv[t] = the row without its gates
//   JOIN true   what of a row is no gate = qkv[t]
//
// A lane has four columns of qkv.

struct Params {
  tokens: u32,
  vectors: u32,  // of a row of qkv
  queries: u32,  // vectors of a token's queries
  head: u32,     // vectors of a head
}

@group(0) @binding(0) var<uniform> params: Params;
//#if JOIN
//#include stored_vectors NAME="qkv" BINDING=1 STORAGE="f32"
//#include written_vectors NAME="projected" BINDING=2
//#else
//#include written_vectors NAME="qkv" BINDING=1
//#include stored_vectors NAME="projected" BINDING=2 STORAGE="f32"
//#endif

@compute @workgroup_size(64)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) local: u32,
) {
  let index = (group.y * groups.x + group.x) * 64u + local;
  if (index >= params.tokens * params.vectors) { return; }
  let vector = index % params.vectors;
  let gatesBefore = min(vector, params.queries) / params.head * params.head;
  let at = index / params.vectors * (params.vectors + params.queries) + vector + gatesBefore;
  //#if JOIN
  store_projected(at, load_qkv(index));
  //#else
  store_qkv(index, load_projected(at));
  //#endif
}
