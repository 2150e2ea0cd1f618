// h = silu(gate) * up (Shazeer 2020), gate and up lying side by side in a row; and its gradient. Where nothing is added
// to gate and up after their product, that writes h itself, with the same bits (GATED in gemm.wgsl).

struct Params {
  rows: u32,
  columns: u32,   // of h, a multiple of 4
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> gateUp: array<vec4<f32>>;
//#if BACKWARD
@group(0) @binding(2) var<storage, read> dh: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read_write> dGateUp: array<vec4<f32>>;
//#else
@group(0) @binding(2) var<storage, read_write> h: array<vec4<f32>>;
//#endif

//#include silu VECTOR="vec4<f32>"

@compute @workgroup_size(64)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) local: u32,
) {
  let index = (group.y * groups.x + group.x) * 64u + local;
  let vectors = params.columns / 4u;
  if (index >= params.rows * vectors) { return; }
  let row = index / vectors;
  let at = row * vectors + index;
  let gate = gateUp[at];
  let up = gateUp[at + vectors];
  let slope = sigmoid(gate);
  let silu = gate * slope;
  //#if BACKWARD
  let d = dh[index];
  dGateUp[at] = d * up * fma(silu, vec4<f32>(1.0) - slope, slope);
  dGateUp[at + vectors] = d * silu;
  //#else
  h[index] = silu * up;
  //#endif
}
