// For each row of a matrix the power of two that brings its largest element to 2^14 or up to twice that, near the end
// of f16's range; 1 for a row of zeros or with anything not finite. A workgroup of $LANES lanes per row.

struct Params {
  rows: u32,
  vectors: u32,  // of a row that count
  stride: u32,   // elements from one row to the next
  first: u32,    // where they begin in a row, a multiple of 4
}

@group(0) @binding(0) var<uniform> params: Params;
//#include stored_vectors NAME="a" BINDING=1 STORAGE="f32"
@group(0) @binding(2) var<storage, read_write> scales: array<f32>;

var<workgroup> largest: array<u32, $LANES>;

//#include scale_of_largest

@compute @workgroup_size($LANES)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  let row = group.y * groups.x + group.x;
  var own = vec4<u32>(0u);
  for (var i = lane; i < select(0u, params.vectors, row < params.rows); i += $(LANES)u) {
    own = max(own, magnitudes(load_a((row * params.stride + params.first) / 4u + i)));
  }
  largest[lane] = max(max(own.x, own.y), max(own.z, own.w));
  for (var step = $(LANES/2)u; step > 0u; step /= 2u) {
    workgroupBarrier();
    if (lane < step) {
      largest[lane] = max(largest[lane], largest[lane + step]);
    }
  }
  if (lane == 0u && row < params.rows) {
    scales[row] = scaleOfLargest(largest[0]);
  }
}
