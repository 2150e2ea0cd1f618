// The running statistics (m, s, w, t) of a row, see log_softmax.wgsl.

// Below any logit, and still finite after the scaling.
const lowest = -1.0e30;

// Adds a block. `scale` is that of the exponents of 2.
fn merge(running: vec4<f32>, m: f32, s: f32, w: f32, scale: f32) -> vec4<f32> {
  let top = max(running.x, m);
  let z0 = (running.x - top) * scale;
  let z1 = (m - top) * scale;
  let e0 = exp2(z0);
  let e1 = exp2(z1);
  let w0 = fma(z0, running.y, running.z);
  let w1 = fma(z1, s, w);
  return vec4<f32>(top, fma(e0, running.y, e1 * s), fma(e0, w0, e1 * w1), running.w);
}

// The log-sum-exp of the logits times their inverse temperature.
fn logSumExpOf(statistics: vec4<f32>, inverseTemperature: f32) -> f32 {
  return fma(statistics.x, inverseTemperature, log(statistics.y));
}
