// What the gradients of experts' matrices bind; grouped_gradient.wgsl says what it means.

struct Params {
  firstExpert: u32,  // of this launch
  tileRows: u32,     // rows of a workgroup's tile
  rows: u32,         // of an expert's matrix
  columns: u32,
  chosen: u32,       // pairs of a token
}

@group(0) @binding(0) var<uniform> params: Params;
//#include stored_vectors NAME="a" BINDING=1 STORAGE="f32"
//#include stored_vectors NAME="b" BINDING=2 STORAGE="f32"
//#include written_vectors NAME="c" BINDING=3
@group(0) @binding(4) var<storage, read> offsets: array<u32>;
@group(0) @binding(5) var<storage, read> list: array<u32>;

// The rows of A and B at a place.
fn rowOfA(place: u32) -> u32 {
  //#if PICKED == "a"
  return list[place] / params.chosen;
  //#else
  return place;
  //#endif
}
fn rowOfB(place: u32) -> u32 {
  //#if PICKED == "b"
  return list[place] / params.chosen;
  //#else
  return place;
  //#endif
}
