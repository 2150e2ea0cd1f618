// One AdamW step over a flat range, four elements a lane. A clip scale of 0 means the gradient must not
// be used: parameters and moments stay as they are. STORAGE f16 or bf16: the model reads the parameters rounded, from
// `rounded`.

struct Params {
  vectors: u32,
  beta1: f32,
  rest1: f32,      // 1 - beta1
  beta2: f32,
  rest2: f32,
  epsilon: f32,
  shrink: f32,     // 1 - learningRate * weightDecay
  stepSize: f32,   // learningRate / biasCorrection1
  rootScale: f32,  // 1 / sqrt(biasCorrection2)
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> gradients: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> clipScale: array<f32>;
@group(0) @binding(3) var<storage, read_write> parameters: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read_write> firstMoment: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read_write> secondMoment: array<vec4<f32>>;
//#if STORAGE != "f32"
//#include rounded_halves
@group(0) @binding(6) var<storage, read_write> rounded: array<vec2<u32>>;
//#endif

@compute @workgroup_size(64)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_id) local: vec3<u32>,
) {
  let i = (group.y * groups.x + group.x) * 64u + local.x;
  let scale = clipScale[0];
  if (i >= params.vectors || scale == 0.0) {
    return;
  }
  let g = gradients[i] * scale;
  let m = fma(vec4<f32>(params.beta1), firstMoment[i], params.rest1 * g);
  let v = fma(vec4<f32>(params.beta2), secondMoment[i], params.rest2 * g * g);
  let denominator = fma(sqrt(v), vec4<f32>(params.rootScale), vec4<f32>(params.epsilon));
  firstMoment[i] = m;
  secondMoment[i] = v;
  let parameter = fma(parameters[i], vec4<f32>(params.shrink), -params.stepSize * (m / denominator));
  parameters[i] = parameter;
  //#if STORAGE != "f32"
  rounded[i] = halves_of(parameter);
  //#endif
}
