// The fastest this device multiplies and adds f32: $CHAINS independent chains in registers per lane.

struct Params {
  rounds: u32,
  factor: f32,
  addend: f32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> result: array<f32>;

@compute @workgroup_size($WORKGROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  let factor = params.factor;
  let addend = params.addend;
  //#for c 0 CHAINS
  var chain$c = f32(id.x + $(c)u);
  //#endfor
  for (var round = 0u; round < params.rounds; round++) {
    //#for i 0 32
    //#for c 0 CHAINS
    chain$c = fma(chain$c, factor, addend);
    //#endfor
    //#endfor
  }
  var sum = 0.0;
  //#for c 0 CHAINS
  sum += chain$c;
  //#endfor
  result[id.x] = sum;
}
