// The gradient of what delta_convolution.wgsl looks back at: those of the sums that a token's input went into, of its own
// segment in ascending order, then of the segments that go on from it in the order in which they lie. It fills the first
// columns of a row of what the projections gave.
//
// A row belongs to the segment that begins at segments[row].x; segments[row].y is past the last row that may look back
// at it: past its segment, or, of a beginning that several sequences share, past the last of them.

struct Params {
  tokens: u32,
  vectors: u32,   // of the channels, C / 4
  width: u32,     // vectors of a row of dProjected
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> segments: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read> weights: array<f32>;
//#include stored_vectors NAME="dSums" BINDING=3 STORAGE="f32"
//#include written_vectors NAME="dProjected" BINDING=4

//#include convolution_weight

@compute @workgroup_size(64)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  //#include convolution_lane
  //#include convolution_gathered
  store_dProjected(token * params.width + channels, d);
}
