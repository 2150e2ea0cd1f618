// Puts an element of each of four neighbouring columns, as one f16 each or as two (PAIR), into tileB.
fn putB(at: u32, value: vec4<f32>) {
  let high = highF16(value);
  //#if PAIR
  let low = lowF16(value);
  //#endif
  //#for i 0 4
  tileB[at + $(i)u * strideTile] = high[$i];
  //#if PAIR
  tileBLow[at + $(i)u * strideTile] = low[$i];
  //#endif
  //#endfor
}
