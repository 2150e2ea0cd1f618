// Splits the joint projection [q | k | v] of each token into heads, normalises each q and k head (NORM, the
// QK-norm of Qwen3) and rotates it by its token's position (Su et al. 2021, RoFormer), with element i
// paired with element i + D/2 as Hugging Face's rotate_half has it:
//
//   y_i       = x_i * cos - x_(i+D/2) * sin
//   y_(i+D/2) = x_(i+D/2) * cos + x_i * sin
//
// Where only the first R elements of a head are rotated, i is paired with i + R/2, and the others with one another: the
// table has 1 and 0 for these. With FROM_ONE the norm multiplies by 1 + its weight.
//
// CACHE f16 or bf16: keys and values are rounded to that type, to nearest even. PACKED: they are stored in it too;
// else as f32 numbers, the same that are read of the packed ones.
//
// A lane owns a head of a token with NORM, which needs the whole head, else four of its pairs.

struct Params {
  tokens: u32,
  heads: u32,
  kvHeads: u32,
  maxPositions: u32,  // rows of the table
  keyRows: u32,       // rows of keys and values
  epsilon: f32,
  chunks: u32,        // vectors of a head, D / 4
  keyRowsAt: u32,
  turned: u32,        // vectors of half of what is rotated, R / 8
}

@group(0) @binding(0) var<uniform> params: Params;
//#include stored_vectors NAME="qkv" BINDING=1 STORAGE="f32"
// ROWS: the rows of keys and values follow, from keyRowsAt on.
@group(0) @binding(2) var<storage, read> positions: array<u32>;
//#include stored_vectors NAME="table" BINDING=3 STORAGE="f32"
//#include written_vectors NAME="queries" BINDING=4
//#if CACHE != "f32"
//#include rounded_halves STORAGE=CACHE
//#endif
//#if PACKED
//#include written_halves NAME="keys" BINDING=5
//#include written_halves NAME="values" BINDING=6
//#else
//#include written_vectors NAME="keys" BINDING=5
//#include written_vectors NAME="values" BINDING=6
//#endif
//#if NORM
@group(0) @binding(7) var<storage, read> queryNorm: array<vec4<f32>>;
@group(0) @binding(8) var<storage, read> keyNorm: array<vec4<f32>>;
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
  let source = row * chunks;
  let isQuery = unit < params.heads;
  let isKey = !isQuery && unit < params.heads + params.kvHeads;

  //#if ROWS
  let place = positions[params.keyRowsAt + token];
  //#else
  let place = token;
  //#endif
  if (!isQuery && place >= params.keyRows) { return; }
  var target_row = token * params.heads + unit;
  if (isKey) {
    target_row = place * params.kvHeads + unit - params.heads;
  } else if (!isQuery) {
    target_row = place * params.kvHeads + unit - params.heads - params.kvHeads;
  }

  //#if NORM
  var squares = vec4<f32>(0.0);
  for (var c = 0u; c < chunks; c++) {
    let x = load_qkv(source + c);
    squares = fma(x, x, squares);
  }
  let mean = 1.0 / f32(4u * chunks);
  let total = (squares.x + squares.y) + (squares.z + squares.w);
  let rstd = inverseSqrt(fma(total, mean, params.epsilon));
  for (var c = 0u; c < half; c++) {
  //#else
  let c = index % half;
  {
  //#endif
    let isTurned = c < params.turned;
    let lowAt = select(params.turned + c, c, isTurned);
    let highAt = c + select(half, params.turned, isTurned);
    var low = load_qkv(source + lowAt);
    var high = load_qkv(source + highAt);
    if (isQuery || isKey) {
      //#if NORM
      low = low * rstd * gain(lowAt, isQuery);
      high = high * rstd * gain(highAt, isQuery);
      //#endif
      let at = (min(positions[token], params.maxPositions - 1u) * half + c) * 2u;
      let first = load_table(at);
      let second = load_table(at + 1u);
      let cosine = vec4<f32>(first.x, first.z, second.x, second.z);
      let sine = vec4<f32>(first.y, first.w, second.y, second.w);
      let rotated = fma(low, cosine, -(high * sine));
      high = fma(high, cosine, low * sine);
      low = rotated;
    }
    //#if CACHE != "f32" && !PACKED
    if (!isQuery) {
      low = read_halves(halves_of(low));
      high = read_halves(halves_of(high));
    }
    //#endif
    let destination = target_row * chunks;
    if (isQuery) {
      store_queries(destination + lowAt, low);
      store_queries(destination + highAt, high);
    } else if (isKey) {
      store_keys(destination + lowAt, low);
      store_keys(destination + highAt, high);
    } else {
      store_values(destination + lowAt, low);
      store_values(destination + highAt, high);
    }
  }
}
