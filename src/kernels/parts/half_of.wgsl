// The pattern of 16 bits (STORAGE f16 or bf16) nearest to a number, of two the even one; in integers, since
// pack2x16float may round either way.
//#if STORAGE == "f16"
fn halfOf(value: f32) -> u32 {
  let bits = bitcast<u32>(value);
  let sign = (bits >> 16u) & 0x8000u;
  let magnitude = bits & 0x7fffffffu;
  if (magnitude >= 0x477ff000u) {
    return sign | 0x7c00u;
  }
  if (magnitude < 0x38800000u) {
    // Below the smallest normal number: in steps of 2^-24. The sum with 2^23 rounds to whole steps.
    let steps = bitcast<f32>(magnitude) * 16777216.0;
    return sign | (bitcast<u32>(steps + 8388608.0) & 0x7ffu);
  }
  return sign | ((magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13u) & 1u)) >> 13u);
}
//#else
fn halfOf(value: f32) -> u32 {
  let bits = bitcast<u32>(value);
  let rounded = (bits + 0x7fffu + ((bits >> 16u) & 1u)) >> 16u;
  // NaN stays one, whatever its bits.
  return select(rounded, (bits >> 16u) | 0x40u, (bits & 0x7fffffffu) > 0x7f800000u);
}
//#endif
