// The gradient of a decay's logarithm, in the place of what its own token gives: with S the state before the token and D
// the gradient of decay * S, it is <decay * S, D>, and by the delta rule
//
//   d[t] = d[t + 1] + sum(output[t] * dOutput[t] - value[t] * dValue[t])
//
// so that no state is needed. Behind a walk's last token stand the walks that go on from it, in their order. A lane has a
// head of a walk.

struct Params {
  firstWalk: u32,
  walks: u32,
  heads: u32,     // value heads
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> walks: array<Walk>;
@group(0) @binding(2) var<storage, read_write> slopes: array<f32>;

//#include delta_walk

@compute @workgroup_size(16)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  let index = (group.y * groups.x + group.x) * 16u + lane;
  if (index >= params.walks * params.heads) { return; }
  let walk = walks[params.firstWalk + index / params.heads];
  let head = index % params.heads;
  var sum = 0.0;
  for (var child = 0u; child < walk.children; child++) {
    sum += slopes[walks[walk.firstChild + child].row * 2u * params.heads + head];
  }
  for (var t = walk.count; t > 0u; t--) {
    let at = (walk.row + t - 1u) * 2u * params.heads + head;
    sum += slopes[at];
    slopes[at] = sum;
  }
}
