// gradient[d] += sum_t sum_h terms[t, first + h, d]   over the $HEADS heads of one QK-norm weight
//
// A lane owns four elements. Each token's heads are summed first, then the tokens are added in ascending
// order to what the gradient holds, so that a batch cut in micro-batches gives the same bits.

struct Params {
  tokens: u32,
  stride: u32,   // vectors of one token's terms
  first: u32,    // vectors before the first of the heads
  chunks: u32,   // vectors of a head, D / 4
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> terms: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> gradient: array<vec4<f32>>;

@compute @workgroup_size(8)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  let chunks = params.chunks;
  let c = id.x;
  if (c >= chunks) { return; }
  var sum = gradient[c];
  for (var t = 0u; t < params.tokens; t++) {
    let at = t * params.stride + params.first + c;
    //#for h 0 HEADS
    let term$h = terms[at + $(h)u * chunks];
    //#endfor
    var ofToken = term0;
    //#for h 1 HEADS
    ofToken += term$h;
    //#endfor
    sum += ofToken;
  }
  gradient[c] = sum;
}
