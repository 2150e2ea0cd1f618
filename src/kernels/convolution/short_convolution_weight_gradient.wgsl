// gradient[k] += sum_t dSums[t] * input[t - (TAPS - 1) + k], tokens in ascending order, added to what the gradient
// holds: a batch cut in passes gives the same bits. A lane has all taps of four channels.

struct Params {
  tokens: u32,
  vectors: u32,   // of the channels, C / 4
}

@group(0) @binding(0) var<uniform> params: Params;
//#include stored_vectors NAME="inputs" BINDING=1 STORAGE="f32"
@group(0) @binding(2) var<storage, read> segments: array<vec4<u32>>;
//#include stored_vectors NAME="dSums" BINDING=3 STORAGE="f32"
@group(0) @binding(4) var<storage, read_write> gradient: array<f32>;

//#include attention_key_row

@compute @workgroup_size(8)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  let vectors = params.vectors;
  let channels = id.x;
  if (channels >= vectors) { return; }
  let first = channels * $(4*TAPS)u;
  //#for k 0 TAPS
  var sum$k = vec4<f32>(
    gradient[first + $(k)u],
    gradient[first + $(TAPS+k)u],
    gradient[first + $(2*TAPS+k)u],
    gradient[first + $(3*TAPS+k)u]);
  //#endfor
  for (var token = 0u; token < params.tokens; token++) {
    let own = segments[token];
    let position = own.w + token - own.x;
    let d = load_dSums(token * vectors + channels);
    //#for k 0 TAPS
    if ($(TAPS-1-k)u <= position) {
      let row$k = rowOfKey(own, own.x, position - $(TAPS-1-k)u);
      sum$k = fma(d, load_inputs(row$k * vectors + channels), sum$k);
    }
    //#endfor
  }
  //#for k 0 TAPS
  gradient[first + $(k)u] = sum$k.x;
  gradient[first + $(TAPS+k)u] = sum$k.y;
  gradient[first + $(2*TAPS+k)u] = sum$k.z;
  gradient[first + $(3*TAPS+k)u] = sum$k.w;
  //#endfor
}
