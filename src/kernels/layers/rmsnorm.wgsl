// y = x * rstd * weight with rstd = 1 / sqrt(mean(x^2) + epsilon), row by row (Zhang & Sennrich 2019). With FROM_ONE it
// is 1 + weight that multiplies; with RESIDUAL another row is added to y. With HALVES the rows of y are also written as
// half_rows.wgsl writes them, for matrix units.
//
// $LANES lanes share a row: lane l sums vectors l, l + LANES, … in ascending order, then the lanes' sums are
// folded in a fixed tree. The order depends on the device's LANES alone, not on the number of rows.

struct Params {
  rows: u32,
  columns: u32,   // a multiple of 4
  epsilon: f32,
}

@group(0) @binding(0) var<uniform> params: Params;
//#include stored_vectors NAME="x" BINDING=1 STORAGE="f32"
@group(0) @binding(2) var<storage, read> weight: array<vec4<f32>>;
//#include written_vectors NAME="y" BINDING=3
@group(0) @binding(4) var<storage, read_write> rstd: array<f32>;
//#if RESIDUAL
//#include stored_vectors NAME="residual" BINDING=5 STORAGE="f32"
//#endif
//#if HALVES
@group(0) @binding(6) var<storage, read_write> halves: array<vec4<f16>>;
@group(0) @binding(7) var<storage, read_write> scales: array<f32>;

//#include scale_of_largest

//#include f16_parts
//#endif

//#if LANES > 1
var<workgroup> partial: array<f32, $LANES>;
//#if HALVES
var<workgroup> largest: array<u32, $LANES>;
//#endif
//#endif

@compute @workgroup_size($WORKGROUP)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) local: u32,
) {
  let vectors = params.columns / 4u;
  //#if LANES > 1
  let row = group.y * groups.x + group.x;
  let lane = local;
  if (row >= params.rows) { return; }
  //#else
  let row = (group.y * groups.x + group.x) * $(WORKGROUP)u + local;
  let lane = 0u;
  if (row >= params.rows) { return; }
  //#endif
  let start = row * vectors;
  var sums = vec4<f32>(0.0);
  for (var i = lane; i < vectors; i += $(LANES)u) {
    let value = load_x(start + i);
    sums = fma(value, value, sums);
  }
  var total = (sums.x + sums.y) + (sums.z + sums.w);
  //#if LANES > 1
  partial[local] = total;
  workgroupBarrier();
  for (var half = $(LANES/2)u; half > 0u; half /= 2u) {
    if (local < half) { partial[local] += partial[local + half]; }
    workgroupBarrier();
  }
  total = partial[0];
  //#endif
  let scale = inverseSqrt(fma(total, 1.0 / f32(params.columns), params.epsilon));
  if (lane == 0u) { rstd[row] = scale; }
  //#if HALVES
  var own = vec4<u32>(0u);
  //#endif
  for (var i = lane; i < vectors; i += $(LANES)u) {
    //#if FROM_ONE
    let gain = vec4<f32>(1.0) + weight[i];
    //#else
    let gain = weight[i];
    //#endif
    //#if RESIDUAL
    let value = load_x(start + i) * scale * gain + load_residual(start + i);
    //#else
    let value = load_x(start + i) * scale * gain;
    //#endif
    store_y(start + i, value);
    //#if HALVES
    own = max(own, magnitudes(value));
    //#endif
  }
  //#if HALVES
  var bits = max(max(own.x, own.y), max(own.z, own.w));
  //#if LANES > 1
  largest[local] = bits;
  workgroupBarrier();
  for (var half = $(LANES/2)u; half > 0u; half /= 2u) {
    if (local < half) { largest[local] = max(largest[local], largest[local + half]); }
    workgroupBarrier();
  }
  bits = largest[0];
  //#endif
  let scaleOfRow = scaleOfLargest(bits);
  if (lane == 0u) { scales[row] = scaleOfRow; }
  let slabs = (vectors + $(SLAB/4-1)u) / $(SLAB/4)u * $(SLAB/4)u;
  let place = row * slabs * $(PAIR+1)u;
  // What this lane has written is read again: computed again it might be rounded otherwise.
  for (var i = lane; i < slabs; i += $(LANES)u) {
    var value = vec4<f32>(0.0);
    if (i < vectors) { value = load_y(start + i) * scaleOfRow; }
    halves[place + i] = highF16(value);
    //#if PAIR
    halves[place + slabs + i] = lowF16(value);
    //#endif
  }
  //#endif
}
