// Old log-probs under which every token of a sequence has the sequence's own ratio: logProb - mean, with
// mean the average of logProb - oldLogProb over the sequence (GSPO, arXiv 2507.18071). A lane per sequence
// sums in order, so that the result does not depend on what else is in the batch.

struct Params {
  sequences: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> logProbs: array<f32>;
@group(0) @binding(2) var<storage, read> oldLogProbs: array<f32>;
@group(0) @binding(3) var<storage, read> starts: array<u32>;  // of each sequence, and the end
@group(0) @binding(4) var<storage, read_write> adjusted: array<f32>;

@compute @workgroup_size(64)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_id) local: vec3<u32>,
) {
  let sequence = (group.y * groups.x + group.x) * 64u + local.x;
  if (sequence >= params.sequences) {
    return;
  }
  let first = starts[sequence];
  let end = starts[sequence + 1u];
  var sum = 0.0;
  for (var row = first; row < end; row++) {
    sum += logProbs[row] - oldLogProbs[row];
  }
  let mean = sum / f32(end - first);
  for (var row = first; row < end; row++) {
    adjusted[row] = logProbs[row] - mean;
  }
}
