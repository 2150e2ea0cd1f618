// Copies eight f16 into tile$NAME. Written one by one, they are one store of 16 bytes for a compiler that sees where
// they lie.
fn copy$NAME(at: u32, words: vec4<u32>) {
  //#for i 0 4
  let pair$i = bitcast<vec2<f16>>(words[$i]);
  tile$NAME[at + $(2*i)u] = pair$i[0];
  tile$NAME[at + $(2*i+1)u] = pair$i[1];
  //#endfor
}
