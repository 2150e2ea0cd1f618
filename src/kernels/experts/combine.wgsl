// Brings together what a token's experts gave, in the order of choice, with one fma per term:
//
//   y[t] = residual[t] + sum_j weights[t, j] * given[places[t, j]]      WEIGHTED, RESIDUAL
//   y[t] = sum_j given[places[t, j]]                                    neither: the gradient of what experts read
//
// A lane has four columns of a token.

struct Params {
  tokens: u32,
  vectors: u32,   // of a row, C / 4
  chosen: u32,    // experts of a token
}

@group(0) @binding(0) var<uniform> params: Params;
//#include stored_vectors NAME="given" BINDING=1 STORAGE="f32"
@group(0) @binding(2) var<storage, read> places: array<u32>;
//#include written_vectors NAME="y" BINDING=3
//#if WEIGHTED
@group(0) @binding(4) var<storage, read> weights: array<f32>;
//#endif
//#if RESIDUAL
//#include stored_vectors NAME="residual" BINDING=5 STORAGE="f32"
//#endif

@compute @workgroup_size(64)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) local: u32,
) {
  let index = (group.y * groups.x + group.x) * 64u + local;
  if (index >= params.tokens * params.vectors) { return; }
  let token = index / params.vectors;
  let vector = index % params.vectors;
  //#if RESIDUAL
  var sum = load_residual(index);
  //#else
  var sum = vec4<f32>(0.0);
  //#endif
  for (var j = 0u; j < params.chosen; j++) {
    let pair = token * params.chosen + j;
    let value = load_given(places[pair] * params.vectors + vector);
    //#if WEIGHTED
    sum = fma(vec4<f32>(weights[pair]), value, sum);
    //#else
    sum += value;
    //#endif
  }
  store_y(index, sum);
}
