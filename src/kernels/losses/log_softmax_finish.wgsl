// Log-prob, entropy and log-sum-exp of each row from the state that log_softmax.wgsl leaves.

struct Params {
  rows: u32,
  //#if !PER_ROW
  inverseTemperature: f32,
  //#endif
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> state: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> logProbs: array<f32>;
@group(0) @binding(3) var<storage, read_write> entropy: array<f32>;
@group(0) @binding(4) var<storage, read_write> logSumExp: array<f32>;
//#if PER_ROW
@group(0) @binding(5) var<storage, read> scales: array<vec2<f32>>;
//#endif

//#include softmax_statistics

const ln2 = 0.6931471805599453;

@compute @workgroup_size(64)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_id) local: vec3<u32>,
) {
  let row = (group.y * groups.x + group.x) * 64u + local.x;
  if (row >= params.rows) {
    return;
  }
  //#if PER_ROW
  let scale = scales[row].x;
  //#else
  let scale = params.inverseTemperature;
  //#endif
  let reduced = state[row];
  let result = logSumExpOf(reduced, scale);
  logSumExp[row] = result;
  entropy[row] = log(reduced.y) - reduced.z / reduced.y * ln2;
  // sample.wgsl computes the log-prob of what it draws by this same expression.
  logProbs[row] = fma(reduced.w, scale, -result);
}
