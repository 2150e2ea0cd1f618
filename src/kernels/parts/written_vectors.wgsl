// Vectors that a kernel writes and may read: the binding $NAME, store_$NAME and load_$NAME. Where an access of 64 bits
// costs no more than one of 32 (WIDE), it takes two numbers at once.
//#if WIDE
@group(0) @binding($BINDING) var<storage, read_write> $NAME: array<vec2<u64>>;
//#else
@group(0) @binding($BINDING) var<storage, read_write> $NAME: array<vec4<f32>>;
//#endif

fn store_$(NAME)(index: u32, value: vec4<f32>) {
  //#if WIDE
  let words = bitcast<vec4<u32>>(value);
  $NAME[index] = vec2<u64>(
    u64(words.x) | (u64(words.y) << 32u),
    u64(words.z) | (u64(words.w) << 32u));
  //#else
  $NAME[index] = value;
  //#endif
}

fn load_$(NAME)(index: u32) -> vec4<f32> {
  //#if WIDE
  let words = $NAME[index];
  return bitcast<vec4<f32>>(vec4<u32>(u32(words.x), u32(words.x >> 32u), u32(words.y), u32(words.y >> 32u)));
  //#else
  return $NAME[index];
  //#endif
}
