// u32 keys in the order of four logits of a row; 0 beyond the last column and for no logit.
fn keysOf(x: vec4<f32>, vector: u32, columns: u32) -> vec4<u32> {
  let raw = bitcast<vec4<u32>>(x);
  // -0 ties with +0.
  let bits = select(raw, vec4<u32>(0u), raw == vec4<u32>(0x80000000u));
  let keys = select(bits | vec4<u32>(0x80000000u), ~bits, bits >= vec4<u32>(0x80000000u));
  let column = vector * 4u + vec4<u32>(0u, 1u, 2u, 3u);
  return select(keys, vec4<u32>(0u), column >= vec4<u32>(columns));
}
