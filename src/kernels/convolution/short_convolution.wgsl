// A gated causal convolution over the last $TAPS tokens, each channel by itself (the operator of LFM2):
//
//   output[t] = c[t] * sum_k weight[k] * input[t - (TAPS - 1) + k]    k ascending; before a sequence there is nothing
//
// over packed sequences, whose first tokens several may share, or with inputs in the pages of a cache (PAGED):
// `segments` (attention_segments.ts) says where they lie, as for attention. BACKWARD: from the output's gradient those
// of c and of the sum.

struct Params {
  tokens: u32,
  vectors: u32,   // of the channels, C / 4
}

@group(0) @binding(0) var<uniform> params: Params;
//#include stored_vectors NAME="projected" BINDING=1 STORAGE="f32"
//#include stored_vectors NAME="inputs" BINDING=2
@group(0) @binding(3) var<storage, read> segments: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read> weights: array<f32>;
//#if BACKWARD
//#include stored_vectors NAME="dOutput" BINDING=5 STORAGE="f32"
//#include written_vectors NAME="dProjected" BINDING=6
//#include written_vectors NAME="dSums" BINDING=7
//#else
//#include written_vectors NAME="output" BINDING=5
//#endif
//#if PAGED
@group(0) @binding(6) var<storage, read> pageTable: array<u32>;
//#endif

//#include attention_key_row

//#include convolution_weight

@compute @workgroup_size(64)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  //#include convolution_lane
  let own = segments[token];
  let position = own.w + token - own.x;
  // The earliest input first, each added to what is there: the order in which all forms of the convolution add.
  var sum = vec4<f32>(0.0);
  for (var tap = 0u; tap < $(TAPS)u; tap++) {
    let back = $(TAPS-1)u - tap;
    if (back <= position) {
      let row = rowOfKey(own, own.x, position - back);
      sum = fma(weight(tap, channels), load_inputs(row * vectors + channels), sum);
    }
  }
  let at = (token * 3u + 1u) * vectors + channels;
  //#if BACKWARD
  let d = load_dOutput(index);
  store_dProjected(at, d * sum);
  store_dSums(index, d * load_projected(at));
  //#else
  store_output(index, load_projected(at) * sum);
  //#endif
}
