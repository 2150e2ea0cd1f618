// output = x * act(gate), act the sigmoid or, with SILU, gate * sigmoid(gate). A row's gates lie among other numbers of
// its row of `gates`: runs of so many vectors, one after another at a distance.
//
// BACKWARD: dx = dOutput * act(gate), and the gate's gradient at its place in dGates.

struct Params {
  rows: u32,
  vectors: u32,   // of a row of x
  width: u32,     // vectors of a row of gates
  first: u32,     // vectors before the first run
  run: u32,       // vectors of a run
  distance: u32,  // vectors from the start of one to that of the next
}

@group(0) @binding(0) var<uniform> params: Params;
//#include stored_vectors NAME="x" BINDING=1 STORAGE="f32"
//#include stored_vectors NAME="gates" BINDING=2 STORAGE="f32"
//#if BACKWARD
//#include stored_vectors NAME="dOutput" BINDING=3 STORAGE="f32"
//#include written_vectors NAME="dx" BINDING=4
//#include written_vectors NAME="dGates" BINDING=5
//#else
//#include written_vectors NAME="output" BINDING=3
//#endif

//#include silu VECTOR="vec4<f32>"

@compute @workgroup_size(64)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  let index = (group.y * groups.x + group.x) * 64u + lane;
  if (index >= params.rows * params.vectors) { return; }
  let place = index % params.vectors;
  let at = index / params.vectors * params.width + params.first +
    place / params.run * params.distance + place % params.run;
  let gate = load_gates(at);
  let share = sigmoid(gate);
  //#if SILU
  let through = gate * share;
  let steepness = fma(through, vec4<f32>(1.0) - share, share);
  //#else
  let through = share;
  let steepness = share * (vec4<f32>(1.0) - share);
  //#endif
  //#if BACKWARD
  let d = load_dOutput(index);
  store_dx(index, d * through);
  store_dGates(at, d * load_x(index) * steepness);
  //#else
  store_output(index, load_x(index) * through);
  //#endif
}
