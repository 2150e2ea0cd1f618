// Elements of a row from `first` on, of which those from `count` on lie behind its end: 0 there.
fn counted(values: vec4<f32>, first: u32, count: u32) -> vec4<f32> {
  return select(vec4<f32>(0.0), values, vec4<u32>(first, first + 1u, first + 2u, first + 3u) < vec4<u32>(count));
}

// The bits of magnitudes, which are in the order of these, with those not finite at the end.
fn magnitudes(values: vec4<f32>) -> vec4<u32> {
  return bitcast<vec4<u32>>(values) & vec4<u32>(0x7fffffffu);
}

// The power of two that brings the largest element of a row to 2^14 or up to twice that; 1 for a row of zeros or with
// anything not finite.
fn scaleOfLargest(bits: u32) -> f32 {
  let exponent = bits >> 23u;
  let isUsual = bits > 0u && exponent < 255u;
  return bitcast<f32>(select(127u, min(268u - exponent, 254u), isUsual) << 23u);
}
