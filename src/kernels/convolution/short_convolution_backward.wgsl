// The gradients of b and x, which a token's input is the product of: those of the sums that its input went into, of its
// own segment in ascending order, then of the segments that go on from it in the order in which they lie.
//
// A row belongs to the segment that begins at segments[row].x; segments[row].y is past the last row that may look back
// at it: past its segment, or, of a beginning that several sequences share, past the last of them.

struct Params {
  tokens: u32,
  vectors: u32,   // of the channels, C / 4
}

@group(0) @binding(0) var<uniform> params: Params;
//#include stored_vectors NAME="projected" BINDING=1 STORAGE="f32"
@group(0) @binding(2) var<storage, read> segments: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read> weights: array<f32>;
//#include stored_vectors NAME="dSums" BINDING=4 STORAGE="f32"
//#include written_vectors NAME="dProjected" BINDING=5

//#include convolution_weight

@compute @workgroup_size(64)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  //#include convolution_lane
  //#include convolution_gathered
  let at = token * 3u * vectors + channels;
  store_dProjected(at, d * load_projected(at + 2u * vectors));
  store_dProjected(at + 2u * vectors, d * load_projected(at));
}
