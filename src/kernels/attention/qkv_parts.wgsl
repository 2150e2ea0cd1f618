// The queries and keys of tokens apart from their values, and together again:
//
//   JOIN false  queries[t] = qkv[t, 0 .. Q), keys[t] = qkv[t, Q .. Q + K)
//   JOIN true   joined[t] = queries[t], keys[t], qkv[t, Q + K ..)
//
// A lane has four columns of a token.

struct Params {
  tokens: u32,
  queries: u32,  // vectors of a token's queries
  keys: u32,     // of its keys
  all: u32,      // of queries, keys and values
}

@group(0) @binding(0) var<uniform> params: Params;
//#include stored_vectors NAME="qkv" BINDING=1 STORAGE="f32"
//#if JOIN
//#include stored_vectors NAME="queries" BINDING=2 STORAGE="f32"
//#include stored_vectors NAME="keys" BINDING=3 STORAGE="f32"
//#include written_vectors NAME="joined" BINDING=4
//#else
//#include written_vectors NAME="queries" BINDING=2
//#include written_vectors NAME="keys" BINDING=3
//#endif

@compute @workgroup_size(64)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) local: u32,
) {
  let index = (group.y * groups.x + group.x) * 64u + local;
  if (index >= params.tokens * params.all) { return; }
  let token = index / params.all;
  let vector = index % params.all;
  //#if JOIN
  if (vector < params.queries) {
    store_joined(index, load_queries(token * params.queries + vector));
  } else if (vector < params.queries + params.keys) {
    store_joined(index, load_keys(token * params.keys + vector - params.queries));
  } else {
    store_joined(index, load_qkv(index));
  }
  //#else
  if (vector < params.queries) {
    store_queries(token * params.queries + vector, load_qkv(index));
  } else if (vector < params.queries + params.keys) {
    store_keys(token * params.keys + vector - params.queries, load_qkv(index));
  }
  //#endif
}
