// Gradient of rope.wgsl with respect to the joint projection: the inverse rotation, then with NORM the gradient of
// the per-head normalisation. With g the gradient of a head behind its norm, x the head, w the weight:
//
//   dx_i = rstd * (w_i * g_i - x_i * rstd^2 * mean(w * g * x)),   terms_i = g_i * x_i * rstd
//
// `terms` [T, H + KV, D] is what rope_norm_gradient.wgsl adds up for the weights. Lanes as in rope.wgsl.

struct Params {
  tokens: u32,
  heads: u32,
  kvHeads: u32,
  maxPositions: u32,
  epsilon: f32,
  chunks: u32,        // vectors of a head, D / 4
}

@group(0) @binding(0) var<uniform> params: Params;
//#include stored_vectors NAME="dQueries" BINDING=1 STORAGE="f32"
//#include stored_vectors NAME="dKeys" BINDING=2 STORAGE="f32"
//#include stored_vectors NAME="dValues" BINDING=3 STORAGE="f32"
@group(0) @binding(4) var<storage, read> positions: array<u32>;
//#include stored_vectors NAME="table" BINDING=5 STORAGE="f32"
//#include written_vectors NAME="dQkv" BINDING=6
//#if NORM
//#include stored_vectors NAME="qkv" BINDING=7 STORAGE="f32"
@group(0) @binding(8) var<storage, read> queryNorm: array<vec4<f32>>;
@group(0) @binding(9) var<storage, read> keyNorm: array<vec4<f32>>;
//#include written_vectors NAME="terms" BINDING=10
//#endif

@compute @workgroup_size(64)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  let chunks = params.chunks;
  let half = chunks / 2u;
  let units = params.heads + 2u * params.kvHeads;
  let index = (group.y * groups.x + group.x) * 64u + lane;
  //#if NORM
  let row = index;
  //#else
  let row = index / half;
  //#endif
  let token = row / units;
  if (token >= params.tokens) { return; }
  let unit = row % units;
  let target_row = row * chunks;
  let isQuery = unit < params.heads;
  let isKey = !isQuery && unit < params.heads + params.kvHeads;
  let queryAt = (token * params.heads + unit) * chunks;
  let keyAt = (token * params.kvHeads + unit - params.heads) * chunks;
  let valueAt = (token * params.kvHeads + unit - params.heads - params.kvHeads) * chunks;

  //#if NORM
  var squares = vec4<f32>(0.0);
  var products = vec4<f32>(0.0);
  let termsAt = (token * (params.heads + params.kvHeads) + unit) * chunks;
  for (var c = 0u; c < half; c++) {
  //#else
  let c = index % half;
  {
  //#endif
    var low: vec4<f32>;
    var high: vec4<f32>;
    if (isQuery) {
      low = load_dQueries(queryAt + c);
      high = load_dQueries(queryAt + half + c);
    } else if (isKey) {
      low = load_dKeys(keyAt + c);
      high = load_dKeys(keyAt + half + c);
    } else {
      low = load_dValues(valueAt + c);
      high = load_dValues(valueAt + half + c);
    }
    if (isQuery || isKey) {
      let at = (min(positions[token], params.maxPositions - 1u) * half + c) * 2u;
      let first = load_table(at);
      let second = load_table(at + 1u);
      let cosine = vec4<f32>(first.x, first.z, second.x, second.z);
      let sine = vec4<f32>(first.y, first.w, second.y, second.w);
      let turned = fma(low, cosine, high * sine);
      high = fma(high, cosine, -(low * sine));
      low = turned;
      //#if NORM
      let lowX = load_qkv(target_row + c);
      let highX = load_qkv(target_row + half + c);
      squares = fma(lowX, lowX, squares);
      squares = fma(highX, highX, squares);
      let lowG = low * select(keyNorm[c], queryNorm[c], isQuery);
      let highG = high * select(keyNorm[half + c], queryNorm[half + c], isQuery);
      products = fma(lowG, lowX, products);
      products = fma(highG, highX, products);
      store_terms(termsAt + c, low * lowX);
      store_terms(termsAt + half + c, high * highX);
      low = lowG;
      high = highG;
      //#endif
    }
    store_dQkv(target_row + c, low);
    store_dQkv(target_row + half + c, high);
  }

  //#if NORM
  if (isQuery || isKey) {
    let mean = 1.0 / f32(4u * chunks);
    let total = (squares.x + squares.y) + (squares.z + squares.w);
    let product = (products.x + products.y) + (products.z + products.w);
    let rstd = inverseSqrt(fma(total, mean, params.epsilon));
    let slope = rstd * rstd * product * mean;
    for (var c = 0u; c < chunks; c++) {
      store_terms(termsAt + c, load_terms(termsAt + c) * rstd);
      store_dQkv(target_row + c, rstd * fma(load_qkv(target_row + c), vec4<f32>(-slope), load_dQkv(target_row + c)));
    }
  }
  //#endif
}
