// The gated delta rule (Yang et al. 2024), token by token, with a state S [Dk, Dv] for each value head:
//
//   S = decay * S;  error = v - S^T k;  S = S + k (strength * error)^T;  output = S^T q
//
// A lane has one column of S; a sum over its Dk numbers is four chains of fused multiply-adds in ascending order, one for
// each place in a vector, then (x + y) + (z + w). Training, prefilling and decoding differ in what a walk is and in
// nothing else, and so in no bit.
//
// KEEP: errors are written too. STATES: walks begin with states and leave them. SLOTS: a walk without rows writes zeros.

struct Params {
  firstWalk: u32,
  walks: u32,
  keyHeads: u32,
  valueHeads: u32,
  blocks: u32,     // of $LANES columns, of a head
}

@group(0) @binding(0) var<uniform> params: Params;
//#include stored_vectors NAME="heads" BINDING=1 STORAGE="f32"
@group(0) @binding(2) var<storage, read> rates: array<f32>;
@group(0) @binding(3) var<storage, read> walks: array<Walk>;
//#if OUTPUT
@group(0) @binding(4) var<storage, read_write> output: array<f32>;
//#endif
//#if KEEP
@group(0) @binding(5) var<storage, read_write> errors: array<f32>;
//#endif
//#if STATES
@group(0) @binding(6) var<storage, read_write> states: array<f32>;
//#endif

//#include delta_walk

@compute @workgroup_size($LANES)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  //#include delta_column
  //#if SLOTS
  if (walk.count == 0u) { output[walk.outputRow * width + own] = 0.0; }
  //#endif
  //#for i 0 DK/4
  var s$i = vec4<f32>(0.0);
  //#endfor
  //#if STATES
  if (walk.start > 0u) {
    let at = ((walk.start - 1u) * params.valueHeads + head) * $(DK*DV)u + column;
    //#for i 0 DK/4
    s$i = vec4<f32>(
      states[at + $(4*i*DV)u], states[at + $((4*i+1)*DV)u], states[at + $((4*i+2)*DV)u], states[at + $((4*i+3)*DV)u]);
    //#endfor
  }
  //#endif
  for (var t = 0u; t < walk.count; t++) {
    let row = walk.row + t;
    let decay = rates[row * 2u * params.valueHeads + head];
    let strength = rates[(row * 2u + 1u) * params.valueHeads + head];
    let queries = row * row0 + keyHead * $(DK/4)u;
    let keys = queries + params.keyHeads * $(DK/4)u;
    let values = load_heads(row * row0 + params.keyHeads * $(DK/2)u + own / 4u);
    var sums = vec4<f32>(0.0);
    //#for i 0 DK/4
    s$i *= decay;
    sums = fma(s$i, load_heads(keys + $(i)u), sums);
    //#endfor
    let error = values[own % 4u] - ((sums.x + sums.y) + (sums.z + sums.w));
    //#if KEEP
    errors[row * width + own] = error;
    //#endif
    let update = vec4<f32>(strength * error);
    //#for i 0 DK/4
    s$i = fma(load_heads(keys + $(i)u), update, s$i);
    //#endfor
    //#if OUTPUT
    if (t >= walk.skipped) {
      sums = vec4<f32>(0.0);
      //#for i 0 DK/4
      sums = fma(s$i, load_heads(queries + $(i)u), sums);
      //#endfor
      output[(walk.outputRow + t - walk.skipped) * width + own] = (sums.x + sums.y) + (sums.z + sums.w);
    }
    //#endif
  }
  //#if STATES
  if (walk.end > 0u) {
    let at = ((walk.end - 1u) * params.valueHeads + head) * $(DK*DV)u + column;
    //#for i 0 DK/4
    states[at + $(4*i*DV)u] = s$(i).x;
    states[at + $((4*i+1)*DV)u] = s$(i).y;
    states[at + $((4*i+2)*DV)u] = s$(i).z;
    states[at + $((4*i+3)*DV)u] = s$(i).w;
    //#endfor
  }
  //#endif
}
