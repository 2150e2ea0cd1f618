// The gradients of what the rates of delta_inputs.wgsl come from, given those of the decays' logarithms and of the
// strengths (slopes):
//
//   dProjected, b: dStrength * strength * (1 - strength);  a: d * -exp(decayLogs) * sigmoid(a + stepBiases)
//   decayTerms, of which the sum over tokens is decayLogs' gradient: d * -exp(decayLogs) * softplus(a + stepBiases)
//   stepTerms, of stepBiases': a's
//
// A lane has four heads of a token.

struct Params {
  tokens: u32,
  heads: u32,     // vectors of the value heads
  width: u32,     // vectors of a row of projected
}

@group(0) @binding(0) var<uniform> params: Params;
//#include stored_vectors NAME="projected" BINDING=1 STORAGE="f32"
//#include stored_vectors NAME="rates" BINDING=2 STORAGE="f32"
//#include stored_vectors NAME="slopes" BINDING=3 STORAGE="f32"
@group(0) @binding(4) var<storage, read> decayLogs: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read> stepBiases: array<vec4<f32>>;
//#include written_vectors NAME="dProjected" BINDING=6
//#include written_vectors NAME="decayTerms" BINDING=7
//#include written_vectors NAME="stepTerms" BINDING=8

//#include delta_rates

@compute @workgroup_size(64)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  let index = (group.y * groups.x + group.x) * 64u + lane;
  let heads = params.heads;
  if (index >= params.tokens * heads) { return; }
  let token = index / heads;
  let head = index % heads;
  let strengths = (token + 1u) * params.width - 2u * heads + head;
  let at = token * 2u * heads + head;
  let strength = load_rates(at + heads);
  store_dProjected(strengths, load_slopes(at + heads) * strength * (vec4<f32>(1.0) - strength));
  let step = load_projected(strengths + heads) + stepBiases[head];
  let d = load_slopes(at) * -exp(decayLogs[head]);
  let dStep = d * sigmoids(step);
  store_dProjected(strengths + heads, dStep);
  store_decayTerms(index, d * softplus(step));
  store_stepTerms(index, dStep);
}
