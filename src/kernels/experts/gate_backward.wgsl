// The gradients of what an expert's gate lets through, h = act(gate) * up, where y = weight * (h · Wᵀ) and dGiven is
// the gradient dy · W without the weight. For place p of pair q:
//
//   dWeights[q] = sum_i h[p, i] * dGiven[p, i]
//   dGateUp[p]  = the gradients of gate and up for dh = weight * dGiven, as in swiglu.wgsl
//   weighted[p] = weight * h[p], of which with dy the gradient of W is the product
//
// A lane has a place, and sums its columns in ascending order by fours.

struct Params {
  pairs: u32,
  vectors: u32,   // of h, I / 4
}

@group(0) @binding(0) var<uniform> params: Params;
//#include stored_vectors NAME="gateUp" BINDING=1 STORAGE="f32"
//#include stored_vectors NAME="dGiven" BINDING=2 STORAGE="f32"
@group(0) @binding(3) var<storage, read> list: array<u32>;
@group(0) @binding(4) var<storage, read> weights: array<f32>;
@group(0) @binding(5) var<storage, read_write> dWeights: array<f32>;
//#include written_vectors NAME="dGateUp" BINDING=6
//#include written_vectors NAME="weighted" BINDING=7

//#include silu VECTOR="vec4<f32>"

@compute @workgroup_size($LANES)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) local: u32,
) {
  let place = (group.y * groups.x + group.x) * $(LANES)u + local;
  if (place >= params.pairs) { return; }
  let pair = list[place];
  let weight = weights[pair];
  var sum = vec4<f32>(0.0);
  for (var vector = 0u; vector < params.vectors; vector++) {
    let index = place * params.vectors + vector;
    let at = 2u * place * params.vectors + vector;
    let gate = load_gateUp(at);
    let up = load_gateUp(at + params.vectors);
    let share = slope(gate);
    let through = gate * share;
    let h = through * up;
    let given = load_dGiven(index);
    sum = fma(h, given, sum);
    let d = weight * given;
    //#if GELU
    let steepness = 1.5957691216057308 * fma(0.134145 * gate, gate, vec4<f32>(1.0));
    store_dGateUp(at, d * up * fma(through, (vec4<f32>(1.0) - share) * steepness, share));
    //#else
    store_dGateUp(at, d * up * fma(through, vec4<f32>(1.0) - share, share));
    //#endif
    store_dGateUp(at + params.vectors, d * through);
    store_weighted(index, weight * h);
  }
  dWeights[pair] = sum.x + sum.y + sum.z + sum.w;
}
