// Rows of the embedding by token id; and the gradient, gathered so that no two lanes write one place.
//
// Backward: the host sorts the positions of a batch by token (stable, so ascending within a token). A lane
// owns four columns of one token's row and adds that token's positions in order to what the gradient holds.

struct Params {
  rows: u32,      // forward: tokens; backward: distinct tokens
  columns: u32,   // model width, a multiple of 4
}

@group(0) @binding(0) var<uniform> params: Params;
//#if BACKWARD
@group(0) @binding(1) var<storage, read> outputGradient: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> distinct: array<u32>;
@group(0) @binding(3) var<storage, read> segments: array<u32>;
@group(0) @binding(4) var<storage, read> order: array<u32>;
@group(0) @binding(5) var<storage, read_write> weightGradient: array<vec4<f32>>;
//#else
@group(0) @binding(1) var<storage, read> weight: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> tokens: array<u32>;
@group(0) @binding(3) var<storage, read_write> output: array<vec4<f32>>;
//#endif

@compute @workgroup_size(16)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) local: u32,
) {
  let index = (group.y * groups.x + group.x) * 16u + local;
  let vectors = params.columns / 4u;
  if (index >= params.rows * vectors) { return; }
  let row = index / vectors;
  let column = index % vectors;
  //#if BACKWARD
  let at = distinct[row] * vectors + column;
  var sum = weightGradient[at];
  for (var i = segments[row]; i < segments[row + 1u]; i++) {
    sum += outputGradient[order[i] * vectors + column];
  }
  weightGradient[at] = sum;
  //#else
  output[index] = weight[tokens[row] * vectors + column];
  //#endif
}
