// Input gradient of rmsnorm.wgsl, added to the gradient that reaches x past the norm:
//
//   dx = upstream + rstd * (g - x * rstd^2 * mean(g * x)),   g = dy * weight
//
// Lanes and order as in rmsnorm.wgsl.

struct Params {
  rows: u32,
  columns: u32,   // a multiple of 4
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> weight: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> rstd: array<f32>;
@group(0) @binding(4) var<storage, read> dy: array<vec4<f32>>;
//#if UPSTREAM
@group(0) @binding(5) var<storage, read> upstream: array<vec4<f32>>;
//#endif
@group(0) @binding(6) var<storage, read_write> dx: array<vec4<f32>>;

//#if LANES > 1
var<workgroup> partial: array<f32, $LANES>;
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
    sums = fma(dy[start + i] * weight[i], x[start + i], sums);
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
    let own = scale * fma(x[start + i], vec4<f32>(-slope), dy[start + i] * weight[i]);
    //#if UPSTREAM
    dx[start + i] = upstream[start + i] + own;
    //#else
    dx[start + i] = own;
    //#endif
  }
}
