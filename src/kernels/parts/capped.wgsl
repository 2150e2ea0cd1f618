// cap * tanh(value / cap) with its own tanh, right to some 1e-7 of its value, so that all kernels give a number the same
// bits: a polynomial in the square up to 0.625 (Cephes' coefficients), and 1 - 2 / (exp(2 x) + 1) beyond.
fn capped(value: f32, cap: f32, inverseCap: f32) -> f32 {
  let x = value * inverseCap;
  let square = x * x;
  var series = fma(-5.70498872745e-3, square, 2.06390887954e-2);
  series = fma(series, square, -5.37397155531e-2);
  series = fma(series, square, 1.33314422036e-1);
  series = fma(series, square, -3.33332819422e-1);
  let near = fma(series * square, x, x);
  let far = 1.0 - 2.0 / (exp2(abs(x) * 2.885390081777927) + 1.0);
  return cap * select(select(far, -far, x < 0.0), near, abs(x) < 0.625);
}

// The derivative of capped where it gave this.
fn capSlope(given: f32, inverseCap: f32) -> f32 {
  let x = given * inverseCap;
  return fma(-x, x, 1.0);
}
