// The gradient of the errors of delta_rule.wgsl, walked from the last token to the first with D, the gradient of the
// state, of which a lane has one column:
//
//   D = D + q dOutput^T;  u = D^T k;  dError = strength * u;  D = decay * (D - k dError^T)
//
// u is kept beside the errors. A walk begins with the gradients that the walks left which go on from it, in their order,
// and leaves its own where it goes on from one itself (STATES). Sums as there.

struct Params {
  firstWalk: u32,
  walks: u32,
  keyHeads: u32,
  valueHeads: u32,
  blocks: u32,     // of $LANES columns, of a head
  tokens: u32,
  firstChild: u32, // the walk whose gradient is the first of dStates
}

@group(0) @binding(0) var<uniform> params: Params;
//#include stored_vectors NAME="heads" BINDING=1 STORAGE="f32"
@group(0) @binding(2) var<storage, read> rates: array<f32>;
@group(0) @binding(3) var<storage, read> walks: array<Walk>;
@group(0) @binding(4) var<storage, read> dOutput: array<f32>;
// The errors [T, Vh, Dv], then u.
@group(0) @binding(5) var<storage, read_write> errors: array<f32>;
//#if STATES
@group(0) @binding(6) var<storage, read_write> dStates: array<f32>;
//#endif

//#include delta_walk

@compute @workgroup_size($LANES)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  //#include delta_column
  //#for i 0 DK/4
  var d$i = vec4<f32>(0.0);
  //#endfor
  //#if STATES
  for (var child = 0u; child < walk.children; child++) {
    let at = ((walk.firstChild + child - params.firstChild) * params.valueHeads + head) * $(DK*DV)u + column;
    //#for i 0 DK/4
    d$i += vec4<f32>(
      dStates[at + $(4*i*DV)u], dStates[at + $((4*i+1)*DV)u], dStates[at + $((4*i+2)*DV)u], dStates[at + $((4*i+3)*DV)u]);
    //#endfor
  }
  //#endif
  for (var t = walk.count; t > 0u; t--) {
    let row = walk.row + t - 1u;
    let decay = rates[row * 2u * params.valueHeads + head];
    let strength = rates[(row * 2u + 1u) * params.valueHeads + head];
    let queries = row * row0 + keyHead * $(DK/4)u;
    let keys = queries + params.keyHeads * $(DK/4)u;
    let slope = vec4<f32>(dOutput[row * width + own]);
    var sums = vec4<f32>(0.0);
    //#for i 0 DK/4
    d$i = fma(load_heads(queries + $(i)u), slope, d$i);
    sums = fma(d$i, load_heads(keys + $(i)u), sums);
    //#endfor
    let u = (sums.x + sums.y) + (sums.z + sums.w);
    errors[(params.tokens + row) * width + own] = u;
    let past = vec4<f32>(-(strength * u));
    //#for i 0 DK/4
    d$i = decay * fma(load_heads(keys + $(i)u), past, d$i);
    //#endfor
  }
  //#if STATES
  if (walk.start > 0u) {
    let at = ((params.firstWalk + place - params.firstChild) * params.valueHeads + head) * $(DK*DV)u + column;
    //#for i 0 DK/4
    dStates[at + $(4*i*DV)u] = d$(i).x;
    dStates[at + $((4*i+1)*DV)u] = d$(i).y;
    dStates[at + $((4*i+2)*DV)u] = d$(i).z;
    dStates[at + $((4*i+3)*DV)u] = d$(i).w;
    //#endfor
  }
  //#endif
}
