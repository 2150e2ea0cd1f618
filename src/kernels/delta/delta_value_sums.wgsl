// What a token's errors and the gradients of its heads give, head by head:
//
//   dValue = strength * u;  slopes = [sum of ofDecay | sum(u * error)]
//
// the gradients of the decay's logarithm (delta_rule_rows.wgsl) and of the strength. A lane has a head of a token; a sum is
// four chains in ascending order, one for each place in a vector, then (x + y) + (z + w).

struct Params {
  tokens: u32,
  heads: u32,     // value heads
  vectors: u32,   // of a head's values, Dv / 4
  before: u32,    // vectors of a token's queries and keys
  rows: u32,      // vectors of a head's rows, Dk / 4
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> rates: array<f32>;
//#include stored_vectors NAME="errors" BINDING=2 STORAGE="f32"
//#include stored_vectors NAME="dHeads" BINDING=3 STORAGE="f32"
//#include written_vectors NAME="dInputs" BINDING=4
@group(0) @binding(5) var<storage, read_write> slopes: array<f32>;

@compute @workgroup_size(16)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  let row = (group.y * groups.x + group.x) * 16u + lane;
  if (row >= params.tokens * params.heads) { return; }
  let token = row / params.heads;
  let head = row % params.heads;
  let vectors = params.vectors;
  let own = row * vectors;
  let later = params.tokens * params.heads * vectors + own;
  let start = token * (params.before + params.heads * vectors) + params.before + head * vectors;
  let strength = rates[(token * 2u + 1u) * params.heads + head];
  var ofStrength = vec4<f32>(0.0);
  for (var j = 0u; j < vectors; j++) {
    let u = load_errors(later + j);
    store_dInputs(start + j, strength * u);
    ofStrength = fma(u, load_errors(own + j), ofStrength);
  }
  var ofDecay = vec4<f32>(0.0);
  let decays = (2u * params.tokens * params.heads + row) * params.rows;
  for (var i = 0u; i < params.rows; i++) { ofDecay += load_dHeads(decays + i); }
  slopes[token * 2u * params.heads + head] = (ofDecay.x + ofDecay.y) + (ofDecay.z + ofDecay.w);
  slopes[(token * 2u + 1u) * params.heads + head] = (ofStrength.x + ofStrength.y) + (ofStrength.z + ofStrength.w);
}
