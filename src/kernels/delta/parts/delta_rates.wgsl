fn sigmoids(x: vec4<f32>) -> vec4<f32> {
  return vec4<f32>(1.0) / (vec4<f32>(1.0) + exp(-x));
}

// log(1 + exp(x)), right to some 1e-7 of its value: with e = exp(-|x|) and z = e / (2 + e), at most a third,
// log(1 + e) = 2 atanh(z), of which the series ends where it no longer counts.
fn softplus(x: vec4<f32>) -> vec4<f32> {
  let e = exp(-abs(x));
  let z = e / (vec4<f32>(2.0) + e);
  let square = z * z;
  var series = fma(square, vec4<f32>(0.06666666666666667), vec4<f32>(0.07692307692307693));
  series = fma(square, series, vec4<f32>(0.09090909090909091));
  series = fma(square, series, vec4<f32>(0.1111111111111111));
  series = fma(square, series, vec4<f32>(0.14285714285714285));
  series = fma(square, series, vec4<f32>(0.2));
  series = fma(square, series, vec4<f32>(0.3333333333333333));
  series = fma(square, series, vec4<f32>(1.0));
  return fma(2.0 * z, series, max(x, vec4<f32>(0.0)));
}
