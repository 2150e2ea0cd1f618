// What matrix units take of the rows of a matrix: each row multiplied by the power of two that brings its largest
// element to 2^14 or up to twice that, near the end of f16's range (1 for a row of zeros or with anything not finite),
// in f16, with zeros up to $SLAB elements; PAIR: the high parts of a row, then the low ones. A workgroup of $LANES
// lanes per row.

struct Params {
  rows: u32,
  columns: u32,  // elements of a row that count
  stride: u32,   // elements from one row to the next
  first: u32,    // where they begin in a row, a multiple of 4
}

@group(0) @binding(0) var<uniform> params: Params;
//#include stored_vectors NAME="a" BINDING=1 STORAGE="f32"
@group(0) @binding(2) var<storage, read_write> scales: array<f32>;
@group(0) @binding(3) var<storage, read_write> halves: array<vec4<f16>>;

var<workgroup> largest: array<u32, $LANES>;

//#include scale_of_largest

//#include f16_parts

@compute @workgroup_size($LANES)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  let row = group.y * groups.x + group.x;
  let isRow = row < params.rows;
  let vectors = (params.columns + 3u) / 4u;
  let source = (row * params.stride + params.first) / 4u;
  var own = vec4<u32>(0u);
  for (var i = lane; i < select(0u, vectors, isRow); i += $(LANES)u) {
    own = max(own, magnitudes(counted(load_a(source + i), i * 4u, params.columns)));
  }
  largest[lane] = max(max(own.x, own.y), max(own.z, own.w));
  for (var step = $(LANES/2)u; step > 0u; step /= 2u) {
    workgroupBarrier();
    if (lane < step) {
      largest[lane] = max(largest[lane], largest[lane + step]);
    }
  }
  workgroupBarrier();
  let scale = scaleOfLargest(largest[0]);
  if (lane == 0u && isRow) {
    scales[row] = scale;
  }
  let slabs = (vectors + $(SLAB/4-1)u) / $(SLAB/4)u * $(SLAB/4)u;
  let place = row * slabs * $(PAIR+1)u;
  for (var i = lane; i < select(0u, slabs, isRow); i += $(LANES)u) {
    var value = vec4<f32>(0.0);
    if (i < vectors) {
      value = counted(load_a(source + i), i * 4u, params.columns) * scale;
    }
    halves[place + i] = highF16(value);
    //#if PAIR
    halves[place + slabs + i] = lowF16(value);
    //#endif
  }
}
