// What a gated DeltaNet layer keeps of each token, of a row [inputs | z | b | a] that its projections gave:
//
//   inputs[t] = the first channels, which its convolution looks back at
//   rates[t]  = [decays | strengths] of its heads: exp(-exp(decayLogs) * softplus(a + stepBiases)), sigmoid(b)
//
// CACHE f16 or bf16: inputs are rounded to that type, to nearest even. PACKED: they are stored in it too; else as f32
// numbers, the same that are read of the packed ones. A lane has four channels or four heads of a token.

struct Params {
  tokens: u32,
  channels: u32,  // vectors of the inputs
  heads: u32,     // vectors of the value heads
  width: u32,     // vectors of a row of projected
  rows: u32,      // of inputs and rates
  rowsAt: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
//#include stored_vectors NAME="projected" BINDING=1 STORAGE="f32"
//#if ROWS
// From rowsAt on the row of each token.
@group(0) @binding(2) var<storage, read> places: array<u32>;
//#endif
//#if CACHE != "f32"
//#include rounded_halves STORAGE=CACHE
//#endif
//#if PACKED
//#include written_halves NAME="inputs" BINDING=3
//#else
//#include written_vectors NAME="inputs" BINDING=3
//#endif
//#include written_vectors NAME="rates" BINDING=4
@group(0) @binding(5) var<storage, read> decayLogs: array<vec4<f32>>;
@group(0) @binding(6) var<storage, read> stepBiases: array<vec4<f32>>;

//#include delta_rates

@compute @workgroup_size(64)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  let index = (group.y * groups.x + group.x) * 64u + lane;
  let each = params.channels + params.heads;
  let token = index / each;
  if (token >= params.tokens) { return; }
  //#if ROWS
  let row = places[params.rowsAt + token];
  if (row >= params.rows) { return; }
  //#else
  let row = token;
  //#endif
  let place = index % each;
  let own = token * params.width;
  if (place < params.channels) {
    var value = load_projected(own + place);
    //#if CACHE != "f32" && !PACKED
    value = read_halves(halves_of(value));
    //#endif
    store_inputs(row * params.channels + place, value);
    return;
  }
  let head = place - params.channels;
  let strengths = own + params.width - 2u * params.heads + head;
  let step = softplus(load_projected(strengths + params.heads) + stepBiases[head]);
  let at = row * 2u * params.heads + head;
  store_rates(at, exp(-exp(decayLogs[head]) * step));
  store_rates(at + params.heads, sigmoids(load_projected(strengths)));
}
