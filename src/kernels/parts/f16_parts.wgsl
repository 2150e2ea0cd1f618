// What matrix units take of four numbers: one f16 of each, or two (PAIR), x = high + low / 1024, of which 21 bits
// count. The high part is cut off bit by bit, since compilers take a number that was rounded and widened again for the
// number itself.
//#if PAIR
fn cutToF16(value: vec4<f32>) -> vec4<f32> {
  return bitcast<vec4<f32>>(bitcast<vec4<u32>>(value) & vec4<u32>(0xffffe000u));
}

fn highF16(value: vec4<f32>) -> vec4<f16> {
  return vec4<f16>(cutToF16(value));
}

fn lowF16(value: vec4<f32>) -> vec4<f16> {
  return vec4<f16>((value - cutToF16(value)) * 1024.0);
}
//#else
fn highF16(value: vec4<f32>) -> vec4<f16> {
  return vec4<f16>(value);
}
//#endif
