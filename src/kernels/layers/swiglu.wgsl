// h = act(gate) * up (Shazeer 2020), gate and up lying side by side in a row; and its gradient. act is SiLU, or GELU. Where nothing is added
// to gate and up after their product, that writes h itself, with the same bits (GATED in gemm.wgsl).

struct Params {
  rows: u32,
  columns: u32,   // of h, a multiple of 4
}

@group(0) @binding(0) var<uniform> params: Params;
//#include stored_vectors NAME="gateUp" BINDING=1 STORAGE="f32"
//#if BACKWARD
//#include stored_vectors NAME="dh" BINDING=2 STORAGE="f32"
//#include written_vectors NAME="dGateUp" BINDING=3
//#else
//#include written_vectors NAME="h" BINDING=2
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
  let gate = load_gateUp(at);
  let up = load_gateUp(at + vectors);
  let share = slope(gate);
  let through = gate * share;
  //#if BACKWARD
  let d = load_dh(index);
  //#if GELU
  let steepness = 1.5957691216057308 * fma(0.134145 * gate, gate, vec4<f32>(1.0));
  store_dGateUp(at, d * up * fma(through, (vec4<f32>(1.0) - share) * steepness, share));
  //#else
  store_dGateUp(at, d * up * fma(through, vec4<f32>(1.0) - share, share));
  //#endif
  store_dGateUp(at + vectors, d * through);
  //#else
  store_h(index, through * up);
  //#endif
}
