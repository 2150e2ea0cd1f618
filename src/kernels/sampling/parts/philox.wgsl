// Philox4x32-10, the WGSL twin of philox.ts, which says how numbers are keyed. WGSL has no
// 64-bit integers: the high word of a product comes from 16-bit halves.

fn philoxMultiplyHigh(a: u32, b: u32) -> u32 {
  let aLow = a & 0xffffu;
  let aHigh = a >> 16u;
  let bLow = b & 0xffffu;
  let bHigh = b >> 16u;
  // The sums do not overflow: (2^16 - 1)^2 + (2^16 - 1) < 2^32.
  let carry = aHigh * bLow + ((aLow * bLow) >> 16u);
  let middle = aLow * bHigh + (carry & 0xffffu);
  return aHigh * bHigh + (carry >> 16u) + (middle >> 16u);
}

fn philox4x32(counter: vec4<u32>, key: vec2<u32>) -> vec4<u32> {
  var c = counter;
  var k = key;
  for (var round = 0u; round < 10u; round++) {
    let high0 = philoxMultiplyHigh(0xd2511f53u, c.x);
    let high1 = philoxMultiplyHigh(0xcd9e8d57u, c.z);
    c = vec4<u32>(high1 ^ c.y ^ k.x, 0xcd9e8d57u * c.z, high0 ^ c.w ^ k.y, 0xd2511f53u * c.x);
    k += vec2<u32>(0x9e3779b9u, 0xbb67ae85u);
  }
  return c;
}

// In [0, 1), a multiple of 2^-24.
fn philoxUniform(counter: vec4<u32>, key: vec2<u32>) -> f32 {
  return f32(philox4x32(counter, key).x >> 8u) * 0x1p-24f;
}
