// What a token's values, errors and outputs give, head by head:
//
//   dValue = strength * u;  slopes = [sum(output * dOutput - value * dValue) | sum(u * error)]
//
// the second the gradient of the strength, the first that of the decay's logarithm but for what later tokens give
// (delta_decays.wgsl). A lane has a head of a token and walks its values in ascending order.

struct Params {
  tokens: u32,
  heads: u32,     // value heads
  vectors: u32,   // of a head's values, Dv / 4
  before: u32,    // vectors of a token's queries and keys
}

@group(0) @binding(0) var<uniform> params: Params;
//#include stored_vectors NAME="inputs" BINDING=1 STORAGE="f32"
@group(0) @binding(2) var<storage, read> rates: array<f32>;
//#include stored_vectors NAME="errors" BINDING=3 STORAGE="f32"
//#include stored_vectors NAME="output" BINDING=4 STORAGE="f32"
//#include stored_vectors NAME="dOutput" BINDING=5 STORAGE="f32"
//#include written_vectors NAME="dInputs" BINDING=6
@group(0) @binding(7) var<storage, read_write> slopes: array<f32>;

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
  var ofDecay = vec4<f32>(0.0);
  var ofStrength = vec4<f32>(0.0);
  for (var j = 0u; j < vectors; j++) {
    let u = load_errors(later + j);
    let dValue = strength * u;
    store_dInputs(start + j, dValue);
    ofStrength = fma(u, load_errors(own + j), ofStrength);
    ofDecay = fma(load_output(own + j), load_dOutput(own + j), ofDecay);
    ofDecay = fma(-load_inputs(start + j), dValue, ofDecay);
  }
  slopes[token * 2u * params.heads + head] = (ofDecay.x + ofDecay.y) + (ofDecay.z + ofDecay.w);
  slopes[(token * 2u + 1u) * params.heads + head] = (ofStrength.x + ofStrength.y) + (ofStrength.z + ofStrength.w);
}
