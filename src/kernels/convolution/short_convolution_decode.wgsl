// short_convolution.wgsl for one new token of each slot, the same bits: its input is written to the cache, which holds
// those before it. Input t of a slot is row pageTable[slot, t / $PAGE] * $PAGE + t % $PAGE.

struct Params {
  tokens: u32,    // one of each slot
  vectors: u32,   // of the channels, C / 4
  maxPages: u32,  // entries of one slot's row of the page table
}

@group(0) @binding(0) var<uniform> params: Params;
//#include stored_vectors NAME="projected" BINDING=1 STORAGE="f32"
//#if STORAGE != "f32"
//#include rounded_halves
//#include written_halves NAME="inputs" BINDING=2

fn load_inputs(index: u32) -> vec4<f32> {
  //#if WIDE
  let words = inputs[index];
  return read_halves(vec2<u32>(u32(words), u32(words >> 32u)));
  //#else
  return read_halves(inputs[index]);
  //#endif
}
//#else
//#include written_vectors NAME="inputs" BINDING=2
//#endif
@group(0) @binding(3) var<storage, read> pageTable: array<u32>;
@group(0) @binding(4) var<storage, read> lengths: array<u32>;
@group(0) @binding(5) var<storage, read> weights: array<f32>;
//#include written_vectors NAME="output" BINDING=6

//#include convolution_weight

fn rowOfInput(slot: u32, position: u32) -> u32 {
  return pageTable[slot * params.maxPages + position / $(PAGE)u] * $(PAGE)u + position % $(PAGE)u;
}

@compute @workgroup_size(64)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  //#include convolution_lane
  let slot = token;
  let length = min(lengths[slot], params.maxPages * $(PAGE)u);
  if (length == 0u) {
    store_output(index, vec4<f32>(0.0));
    return;
  }
  let position = length - 1u;
  let at = slot * 3u * vectors + channels;
  var value = load_projected(at) * load_projected(at + 2u * vectors);
  store_inputs(rowOfInput(slot, position) * vectors + channels, value);
  //#if STORAGE != "f32"
  value = read_halves(halves_of(value));
  //#endif
  var sum = vec4<f32>(0.0);
  for (var tap = 0u; tap < $(TAPS-1)u; tap++) {
    let back = $(TAPS-1)u - tap;
    if (back <= position) {
      let row = rowOfInput(slot, position - back);
      sum = fma(weight(tap, channels), load_inputs(row * vectors + channels), sum);
    }
  }
  sum = fma(weight($(TAPS-1)u, channels), value, sum);
  store_output(index, load_projected(at + vectors) * sum);
}
