// Puts an element of each of four neighbouring columns, as they are (FULL), as one f16 each or as two (PAIR), into tileB.
fn putB(at: u32, value: vec4<f32>) {
  //#if FULL
  //#for i 0 4
  tileB[at + $(i)u * strideTile] = Element(value[$i]);
  //#endfor
  //#else
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
  //#endif
}
