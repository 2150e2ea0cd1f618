// Gradient of rope.wgsl with respect to the joint projection, in place: the inverse rotation of query and key heads,
// then with NORM the gradient of the per-head normalisation. With g the gradient of a head behind its norm, x the
// head, w the weight:
//
//   dx_i = rstd * (w_i * g_i - x_i * rstd^2 * mean(w * g * x)),   terms_i = g_i * x_i * rstd
//
// `terms` [T, H + KV, D] is what head_sum.wgsl and column_sum.wgsl add up for the weights. Lanes as in rope.wgsl.

struct Params {
  tokens: u32,
  heads: u32,
  kvHeads: u32,
  maxPositions: u32,
  epsilon: f32,
  chunks: u32,        // vectors of a head, D / 4
  turned: u32,        // vectors of half of what is rotated, R / 8
}

@group(0) @binding(0) var<uniform> params: Params;
//#include written_vectors NAME="dQkv" BINDING=1
@group(0) @binding(2) var<storage, read> positions: array<u32>;
//#include stored_vectors NAME="table" BINDING=3 STORAGE="f32"
//#if NORM
//#include stored_vectors NAME="qkv" BINDING=4 STORAGE="f32"
@group(0) @binding(5) var<storage, read> queryNorm: array<vec4<f32>>;
@group(0) @binding(6) var<storage, read> keyNorm: array<vec4<f32>>;
//#include written_vectors NAME="terms" BINDING=7
//#endif

//#if NORM
fn gain(at: u32, isQuery: bool) -> vec4<f32> {
  let weight = select(keyNorm[at], queryNorm[at], isQuery);
  //#if FROM_ONE
  return vec4<f32>(1.0) + weight;
  //#else
  return weight;
  //#endif
}
//#endif

@compute @workgroup_size(64)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  let chunks = params.chunks;
  let half = chunks / 2u;
  // Value heads are not rotated.
  let units = params.heads + params.kvHeads;
  let index = (group.y * groups.x + group.x) * 64u + lane;
  //#if NORM
  let row = index;
  //#else
  let row = index / half;
  //#endif
  let token = row / units;
  if (token >= params.tokens) { return; }
  let unit = row % units;
  let at = (token * (units + params.kvHeads) + unit) * chunks;

  //#if NORM
  let isQuery = unit < params.heads;
  var squares = vec4<f32>(0.0);
  var products = vec4<f32>(0.0);
  let termsAt = row * chunks;
  for (var c = 0u; c < half; c++) {
  //#else
  let c = index % half;
  {
  //#endif
    let isTurned = c < params.turned;
    let lowAt = select(params.turned + c, c, isTurned);
    let highAt = c + select(half, params.turned, isTurned);
    let lowTurned = load_dQkv(at + lowAt);
    let highTurned = load_dQkv(at + highAt);
    let entry = (min(positions[token], params.maxPositions - 1u) * half + c) * 2u;
    let first = load_table(entry);
    let second = load_table(entry + 1u);
    let cosine = vec4<f32>(first.x, first.z, second.x, second.z);
    let sine = vec4<f32>(first.y, first.w, second.y, second.w);
    var low = fma(lowTurned, cosine, highTurned * sine);
    var high = fma(highTurned, cosine, -(lowTurned * sine));
    //#if NORM
    let lowX = load_qkv(at + lowAt);
    let highX = load_qkv(at + highAt);
    squares = fma(lowX, lowX, squares);
    squares = fma(highX, highX, squares);
    let lowG = low * gain(lowAt, isQuery);
    let highG = high * gain(highAt, isQuery);
    products = fma(lowG, lowX, products);
    products = fma(highG, highX, products);
    store_terms(termsAt + lowAt, low * lowX);
    store_terms(termsAt + highAt, high * highX);
    low = lowG;
    high = highG;
    //#endif
    store_dQkv(at + lowAt, low);
    store_dQkv(at + highAt, high);
  }

  //#if NORM
  let mean = 1.0 / f32(4u * chunks);
  let total = (squares.x + squares.y) + (squares.z + squares.w);
  let product = (products.x + products.y) + (products.z + products.w);
  let rstd = inverseSqrt(fma(total, mean, params.epsilon));
  let slope = rstd * rstd * product * mean;
  for (var c = 0u; c < chunks; c++) {
    store_terms(termsAt + c, load_terms(termsAt + c) * rstd);
    store_dQkv(at + c, rstd * fma(load_qkv(at + c), vec4<f32>(-slope), load_dQkv(at + c)));
  }
  //#endif
}
