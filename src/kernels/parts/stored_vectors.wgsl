// Vectors of the elements of a tensor in f32, f16 or bf16 (STORAGE): the binding $NAME and load_$NAME. Where a load
// of 64 bits costs no more than one of 32 (WIDE), it takes two words at once.
//#if WIDE
//#if STORAGE == "f32"
@group(0) @binding($BINDING) var<storage, read> $NAME: array<vec2<u64>>;
//#else
@group(0) @binding($BINDING) var<storage, read> $NAME: array<u64>;
//#endif
//#else
//#if STORAGE == "f32"
@group(0) @binding($BINDING) var<storage, read> $NAME: array<vec4<f32>>;
//#else
@group(0) @binding($BINDING) var<storage, read> $NAME: array<vec2<u32>>;
//#endif
//#endif

fn load_$(NAME)(index: u32) -> vec4<f32> {
  //#if STORAGE == "f32"
  //#if WIDE
  let words = $NAME[index];
  return bitcast<vec4<f32>>(vec4<u32>(u32(words.x), u32(words.x >> 32u), u32(words.y), u32(words.y >> 32u)));
  //#else
  return $NAME[index];
  //#endif
  //#else
  //#if WIDE
  let words = $NAME[index];
  let pair = vec2<u32>(u32(words), u32(words >> 32u));
  //#else
  let pair = $NAME[index];
  //#endif
  //#if STORAGE == "f16"
  return vec4<f32>(unpack2x16float(pair.x), unpack2x16float(pair.y));
  //#else
  return bitcast<vec4<f32>>(vec4<u32>(
    pair.x << 16u, pair.x & 0xffff0000u, pair.y << 16u, pair.y & 0xffff0000u));
  //#endif
  //#endif
}
