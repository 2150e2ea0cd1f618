// The fastest this device multiplies and adds f32: $CHAINS numbers in registers per lane, $STEPS fma each per
// round. Every number's next value takes in its neighbour's: chains that know nothing of each other a compiler
// lays out one after the other, and then it is latency that is measured.

struct Params {
  rounds: u32,
  factor: f32,  // small, so that the numbers neither overflow nor become denormal
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> result: array<f32>;

@compute @workgroup_size($WORKGROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  let factor = params.factor;
  //#for c 0 CHAINS
  var chain$c = f32(id.x + $(c)u);
  //#endfor
  for (var round = 0u; round < params.rounds; round++) {
    //#for i 0 STEPS
    //#for c 0 CHAINS
    chain$c = fma(chain$c, factor, chain$((c+1)%CHAINS));
    //#endfor
    //#endfor
  }
  var sum = 0.0;
  //#for c 0 CHAINS
  sum += chain$c;
  //#endfor
  result[id.x] = sum;
}
