// The inputs of a gated short convolution: b * x of each token, which lie in a row as [b | c | x].
//
// CACHE f16 or bf16: they are rounded to that type, to nearest even. PACKED: they are stored in it too; else as f32
// numbers, the same that are read of the packed ones.

struct Params {
  tokens: u32,
  vectors: u32,   // of the channels, C / 4
  rows: u32,      // of the inputs
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

@compute @workgroup_size(64)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  //#include convolution_lane
  //#if ROWS
  let row = places[params.rowsAt + token];
  if (row >= params.rows) { return; }
  //#else
  let row = token;
  //#endif
  let at = token * 3u * vectors + channels;
  var value = load_projected(at) * load_projected(at + 2u * vectors);
  //#if CACHE != "f32" && !PACKED
  value = read_halves(halves_of(value));
  //#endif
  store_inputs(row * vectors + channels, value);
}
