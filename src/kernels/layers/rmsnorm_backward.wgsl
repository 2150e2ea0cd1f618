// Input gradient of rmsnorm.wgsl, added to the gradient that reaches x past the norm:
//
//   dx = upstream + rstd * (g - x * rstd^2 * mean(g * x)),   g = dy * weight, with FROM_ONE dy * (1 + weight)
//
// Lanes and order as in rmsnorm.wgsl.

struct Params {
  rows: u32,
  columns: u32,   // a multiple of 4
}

@group(0) @binding(0) var<uniform> params: Params;
//#include stored_vectors NAME="x" BINDING=1 STORAGE="f32"
@group(0) @binding(2) var<storage, read> weight: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> rstd: array<f32>;
//#include stored_vectors NAME="dy" BINDING=4 STORAGE="f32"
//#if UPSTREAM
//#include stored_vectors NAME="upstream" BINDING=5 STORAGE="f32"
//#endif
//#include written_vectors NAME="dx" BINDING=6

//#if LANES > 1
var<workgroup> partial: array<f32, $LANES>;
//#endif

fn gain(i: u32) -> vec4<f32> {
  //#if FROM_ONE
  return vec4<f32>(1.0) + weight[i];
  //#else
  return weight[i];
  //#endif
}

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
    sums = fma(load_dy(start + i) * gain(i), load_x(start + i), sums);
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
  let scale = rstd[row];
  let slope = scale * scale * total / f32(params.columns);
  for (var i = lane; i < vectors; i += $(LANES)u) {
    let own = scale * fma(load_x(start + i), vec4<f32>(-slope), load_dy(start + i) * gain(i));
    //#if UPSTREAM
    store_dx(start + i, load_upstream(start + i) + own);
    //#else
    store_dx(start + i, own);
    //#endif
  }
}
