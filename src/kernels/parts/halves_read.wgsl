  // Four numbers of 16 bits (STORAGE) in two words.
  //#if STORAGE == "f16"
  return vec4<f32>(unpack2x16float(pair.x), unpack2x16float(pair.y));
  //#else
  return bitcast<vec4<f32>>(vec4<u32>(
    pair.x << 16u, pair.x & 0xffff0000u, pair.y << 16u, pair.y & 0xffff0000u));
  //#endif
