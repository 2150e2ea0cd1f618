// Puts four neighbouring elements, as they are (FULL), as one f16 each or as two (PAIR), into tile$NAME.
fn put$NAME(at: u32, value: vec4<f32>) {
  //#if FULL
  //#for i 0 4
  tile$NAME[at + $(i)u] = Element(value[$i]);
  //#endfor
  //#else
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
  //#endif
}
