// Vectors of 16-bit numbers that a kernel writes: the binding $NAME and store_$NAME; see rounded_halves.
//#if WIDE
@group(0) @binding($BINDING) var<storage, read_write> $NAME: array<u64>;
//#else
@group(0) @binding($BINDING) var<storage, read_write> $NAME: array<vec2<u32>>;
//#endif

fn store_$(NAME)(index: u32, value: vec4<f32>) {
  let pair = halves_of(value);
  //#if WIDE
  $NAME[index] = u64(pair.x) | (u64(pair.y) << 32u);
  //#else
  $NAME[index] = pair;
  //#endif
}
