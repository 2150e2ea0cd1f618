// Gradient of the embedding table: every distinct token's row is added the output gradients of its
// positions, in ascending order and starting from what the row holds. A lane per distinct token and
// vector of four columns: no two lanes write one place, and a batch cut in several gives the same bits.

struct Params {
  distinct: u32,
  vectors: u32,   // D / 4
  firstRow: u32,  // token id of the first row of weightGradient
  rows: u32,      // how many it has
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> outputGradient: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> positions: array<u32>;   // sorted by token, then by position
@group(0) @binding(3) var<storage, read> tokens: array<u32>;      // the distinct ones
@group(0) @binding(4) var<storage, read> starts: array<u32>;      // of each token in positions, and the end
@group(0) @binding(5) var<storage, read_write> weightGradient: array<vec4<f32>>;

@compute @workgroup_size(16)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_id) local: vec3<u32>,
) {
  let entry = group.z * groups.y + group.y;
  let vector = group.x * 16u + local.x;
  if (entry >= params.distinct || vector >= params.vectors) {
    return;
  }
  let row = tokens[entry] - params.firstRow;  // wraps around, beyond any table, for a smaller id
  if (row >= params.rows) {
    return;
  }
  let at = row * params.vectors + vector;
  var sum = weightGradient[at];
  for (var i = starts[entry]; i < starts[entry + 1u]; i++) {
    sum += outputGradient[positions[i] * params.vectors + vector];
  }
  weightGradient[at] = sum;
}
