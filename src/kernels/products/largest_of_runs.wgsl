// The largest magnitude among the rows of each run, as bits, which are in the order of the magnitudes with those not
// finite at the end. A workgroup of $LANES lanes per row; in whatever order rows come, the largest is the largest.

struct Params {
  rows: u32,
  columns: u32,  // elements of a row that count
  stride: u32,   // elements from one row to the next
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read> runOfRow: array<u32>;
@group(0) @binding(3) var<storage, read_write> largest: array<atomic<u32>>;

var<workgroup> ofLane: array<u32, $LANES>;

@compute @workgroup_size($LANES)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  let row = group.y * groups.x + group.x;
  let isRow = row < params.rows;
  var own = 0u;
  for (var i = lane; i < select(0u, params.columns, isRow); i += $(LANES)u) {
    own = max(own, bitcast<u32>(x[row * params.stride + i]) & 0x7fffffffu);
  }
  ofLane[lane] = own;
  for (var step = $(LANES/2)u; step > 0u; step /= 2u) {
    workgroupBarrier();
    if (lane < step) {
      ofLane[lane] = max(ofLane[lane], ofLane[lane + step]);
    }
  }
  if (lane == 0u && isRow) {
    atomicMax(&largest[runOfRow[row]], ofLane[0]);
  }
}
