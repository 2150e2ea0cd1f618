// Gradient of log-prob and entropy with respect to a chunk of logits. z = logit * inverseTemperature,
// p = exp(z - logSumExp), H the entropy:
//   dLogit = inverseTemperature * (gLogProb * ([column is target] - p) - gEntropy * p * (log p + H))
// CAP: the logits are cap * tanh(x / cap) of what the head gave, whose gradient this is: that times 1 - (logit / cap)^2.
// Columns from the chunk's last up to the stride receive 0. Rows whose two gradients are 0 receive 0.

struct Params {
  rows: u32,
  columns: u32,
  stride: u32,
  firstColumn: u32,
  inverseTemperature: f32,
  //#if CAP
  inverseCap: f32,
  //#endif
}

//#if CAP
//#include capped
//#endif

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> logSumExp: array<f32>;
@group(0) @binding(2) var<storage, read> entropy: array<f32>;
@group(0) @binding(3) var<storage, read> targets: array<u32>;
@group(0) @binding(4) var<storage, read> logProbGradient: array<f32>;
@group(0) @binding(5) var<storage, read> entropyGradient: array<f32>;
@group(0) @binding(6) var<storage, read_write> logitsGradient: array<vec4<f32>>;
//#if !IN_PLACE
@group(0) @binding(7) var<storage, read> logits: array<vec4<f32>>;
//#endif

// A workgroup makes 8 rows: a start costs more than a row of a small vocabulary.
@compute @workgroup_size($WORKGROUP)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_id) local: vec3<u32>,
) {
  let firstRow = (group.z * groups.y + group.y) * 8u;
  let vectors = params.stride / 4u;
  let vector = group.x * $(WORKGROUP)u + local.x;
  if (vector >= vectors) {
    return;
  }
  let column = vector * 4u + vec4<u32>(0u, 1u, 2u, 3u);
  let padding = column >= vec4<u32>(params.columns);
  for (var row = firstRow; row < min(firstRow + 8u, params.rows); row++) {
    let gLogProb = logProbGradient[row];
    let gEntropy = entropyGradient[row];
    let idle = gLogProb == 0.0 && gEntropy == 0.0;
    let at = row * vectors + vector;
    //#if IN_PLACE
    let x = logitsGradient[at];
    //#else
    let x = logits[at];
    //#endif
    let logP = fma(x, vec4<f32>(params.inverseTemperature), vec4<f32>(-logSumExp[row]));
    let p = exp(logP);
    let hit = column == vec4<u32>(targets[row] - params.firstColumn);
    // p log p is 0 where p is, also for a logit of minus infinity.
    let slope = select(-p * (logP + entropy[row]), vec4<f32>(0.0), p == vec4<f32>(0.0));
    let pull = select(vec4<f32>(0.0), vec4<f32>(1.0), hit) - p;
    //#if CAP
    let ofCap = vec4<f32>(
      capSlope(x.x, params.inverseCap),
      capSlope(x.y, params.inverseCap),
      capSlope(x.z, params.inverseCap),
      capSlope(x.w, params.inverseCap));
    let g = params.inverseTemperature * fma(vec4<f32>(gLogProb), pull, gEntropy * slope) * ofCap;
    //#else
    let g = params.inverseTemperature * fma(vec4<f32>(gLogProb), pull, gEntropy * slope);
    //#endif
    logitsGradient[at] = select(g, vec4<f32>(0.0), padding | vec4<bool>(idle));
  }
}
