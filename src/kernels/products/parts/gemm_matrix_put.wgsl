// Puts four neighbouring elements, as one f16 each or as two (PAIR), into tile$NAME.
fn put$NAME(at: u32, value: vec4<f32>) {
  let high = highF16(value);
  //#if PAIR
  let low = lowF16(value);
  //#endif
  //#for i 0 4
  tile$NAME[at + $(i)u] = high[$i];
  //#if PAIR
  tile$(NAME)Low[at + $(i)u] = low[$i];
  //#endif
  //#endfor
}
