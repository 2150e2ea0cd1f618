// Four numbers in two words of 16-bit numbers (STORAGE f16 or bf16), and what is then read of them. A number that f16
// cannot hold becomes NaN, which shows in all that is computed of it; an infinite key might weigh nothing.
//#include half_of

fn storable(value: f32) -> u32 {
  let half = halfOf(value);
  //#if STORAGE == "f16"
  return select(half, 0x7e00u, (half & 0x7c00u) == 0x7c00u);
  //#else
  return half;
  //#endif
}

fn halves_of(value: vec4<f32>) -> vec2<u32> {
  return vec2<u32>(
    storable(value.x) | (storable(value.y) << 16u),
    storable(value.z) | (storable(value.w) << 16u));
}

fn read_halves(pair: vec2<u32>) -> vec4<f32> {
  //#include halves_read
}
