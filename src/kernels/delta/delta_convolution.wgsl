// A causal convolution over the last $TAPS tokens with SiLU behind it, each channel by itself:
//
//   output[t] = silu(sum_k weight[k] * input[t - (TAPS - 1) + k])    k ascending; before a sequence there is nothing
//
// over packed sequences, whose first tokens several may share, over rows whose inputs lie in the pages of a cache
// (PAGED), both as `segments` (attention_segments.ts) says, or for one token of each slot (SLOTS), whose input is in the
// cache already. BACKWARD: the output's gradient becomes that of the sum, in its place. A lane has four channels of a
// token.

struct Params {
  tokens: u32,
  vectors: u32,   // of the channels, C / 4
  maxPages: u32,  // entries of one slot's row of the page table
}

@group(0) @binding(0) var<uniform> params: Params;
//#include stored_vectors NAME="inputs" BINDING=1
//#if SLOTS
@group(0) @binding(2) var<storage, read> lengths: array<u32>;
//#else
@group(0) @binding(2) var<storage, read> segments: array<vec4<u32>>;
//#endif
@group(0) @binding(3) var<storage, read> weights: array<f32>;
//#include written_vectors NAME="output" BINDING=4
//#if PAGED || SLOTS
@group(0) @binding(5) var<storage, read> pageTable: array<u32>;
//#endif

//#if !SLOTS
//#include attention_key_row
//#endif

//#include convolution_weight

//#include silu VECTOR="vec4<f32>"

@compute @workgroup_size(64)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  //#include convolution_lane
  //#if SLOTS
  let length = min(lengths[token], params.maxPages * $(PAGE)u);
  if (length == 0u) {
    store_output(index, vec4<f32>(0.0));
    return;
  }
  let position = length - 1u;
  //#else
  let own = segments[token];
  let position = own.w + token - own.x;
  //#endif
  // The earliest input first, each added to what is there: the order in which all forms of the convolution add.
  var sum = vec4<f32>(0.0);
  for (var tap = 0u; tap < $(TAPS)u; tap++) {
    let back = $(TAPS-1)u - tap;
    if (back <= position) {
      //#if SLOTS
      let at = position - back;
      let row = pageTable[token * params.maxPages + at / $(PAGE)u] * $(PAGE)u + at % $(PAGE)u;
      //#else
      let row = rowOfKey(own, own.x, position - back);
      //#endif
      sum = fma(weight(tap, channels), load_inputs(row * vectors + channels), sum);
    }
  }
  let share = slope(sum);
  //#if BACKWARD
  store_output(index, load_output(index) * fma(sum * share, vec4<f32>(1.0) - share, share));
  //#else
  store_output(index, sum * share);
  //#endif
}
