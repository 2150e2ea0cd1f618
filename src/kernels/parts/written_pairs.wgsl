// Pairs of numbers that a kernel writes: the binding $NAME and store_$NAME; see written_vectors.
//#if WIDE
@group(0) @binding($BINDING) var<storage, read_write> $NAME: array<u64>;
//#else
@group(0) @binding($BINDING) var<storage, read_write> $NAME: array<vec2<f32>>;
//#endif

fn store_$(NAME)(index: u32, value: vec2<f32>) {
  //#if WIDE
  let words = bitcast<vec2<u32>>(value);
  $NAME[index] = u64(words.x) | (u64(words.y) << 32u);
  //#else
  $NAME[index] = value;
  //#endif
}
