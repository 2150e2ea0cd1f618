// Puts four neighbouring elements, as one f16 each or as two (PAIR), into tile$NAME.
fn put$NAME(at: u32, value: vec4<f32>) {
  //#if PAIR
  let high = bitcast<vec4<f32>>(bitcast<vec4<u32>>(value) & vec4<u32>(0xffffe000u));
  let low = vec4<f16>((value - high) * 1024.0);
  let rounded = vec4<f16>(high);
  //#else
  let rounded = vec4<f16>(value);
  //#endif
  //#for i 0 4
  tile$NAME[at + $(i)u] = rounded[$i];
  //#if PAIR
  tile$(NAME)Low[at + $(i)u] = low[$i];
  //#endif
  //#endfor
}
