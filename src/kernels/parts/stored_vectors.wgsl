// Vectors of the elements of a tensor in f32, f16, bf16 or quantised blocks (STORAGE): the binding $NAME and
// load_$NAME. Where a load of 64 bits costs no more than one of 32 (WIDE), halves and floats take two words at once.
//
// A quantised block is ten words: the quants in the order of the elements, and what turns a quant into its element,
// which is exactly quant * scale + minimum:
//   q4   64 elements of 4 bits; of each half of them f16 scale and f16 minimum
//   q4k  64 elements of 4 bits; an f16 scale and an f16 minimum, and of each half the whole numbers that multiply the
//        scale, then those that multiply the minimum, a byte each
//   q8   32 elements of 8 bits with sign; an f16 scale, and of each half the whole number that multiplies it, a byte
//        with sign each; an f32 minimum
// The products are exact in f32, so that it makes no difference whether a compiler fuses them with the sum.
//#if STORAGE == "q4" || STORAGE == "q4k" || STORAGE == "q8"
@group(0) @binding($BINDING) var<storage, read> $NAME: array<u32>;

fn load_$(NAME)(index: u32) -> vec4<f32> {
  //#if STORAGE == "q8"
  let block = index / 8u * 10u;
  let word = bitcast<i32>($NAME[block + index % 8u]);
  let quants = vec4<i32>(word << 24u, word << 16u, word << 8u, word) >> vec4<u32>(24u);
  let scales = $NAME[block + 8u];
  let ofHalf = bitcast<i32>(scales << (8u - (index & 4u) * 2u)) >> 24u;
  let scale = unpack2x16float(scales).x * f32(ofHalf);
  let minimum = bitcast<f32>($NAME[block + 9u]);
  //#else
  let block = index / 16u * 10u;
  let word = $NAME[block + index % 16u / 2u] >> (index % 2u * 16u);
  let quants = vec4<u32>(word, word >> 4u, word >> 8u, word >> 12u) & vec4<u32>(15u);
  let ofHalf = index / 8u % 2u;
  //#if STORAGE == "q4"
  let factors = unpack2x16float($NAME[block + 8u + ofHalf]);
  //#else
  let multipliers = $NAME[block + 9u] >> (ofHalf * 8u);
  let factors = unpack2x16float($NAME[block + 8u]) *
    vec2<f32>(vec2<u32>(multipliers & 0xffu, (multipliers >> 16u) & 0xffu));
  //#endif
  let scale = factors.x;
  let minimum = factors.y;
  //#endif
  return fma(vec4<f32>(quants), vec4<f32>(scale), vec4<f32>(minimum));
}
//#else
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
  //#include halves_read
  //#endif
}
//#endif
