// Vectors of the elements of a tensor in f32, f16 or bf16 (STORAGE): the binding $NAME and load_$NAME.
//#if STORAGE == "f32"
@group(0) @binding($BINDING) var<storage, read> $NAME: array<vec4<f32>>;
//#else
@group(0) @binding($BINDING) var<storage, read> $NAME: array<vec2<u32>>;
//#endif

fn load_$(NAME)(index: u32) -> vec4<f32> {
  //#if STORAGE == "f32"
  return $NAME[index];
  //#endif
  //#if STORAGE == "f16"
  let pair = $NAME[index];
  return vec4<f32>(unpack2x16float(pair.x), unpack2x16float(pair.y));
  //#endif
  //#if STORAGE == "bf16"
  let pair = $NAME[index];
  return bitcast<vec4<f32>>(vec4<u32>(
    pair.x << 16u, pair.x & 0xffff0000u, pair.y << 16u, pair.y & 0xffff0000u));
  //#endif
}
