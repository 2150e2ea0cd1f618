// What the gradients of experts' matrices bind; grouped_gradient.wgsl says what it means.

struct Params {
  firstExpert: u32,  // of this launch
  tileRows: u32,     // rows of a workgroup's tile
  rows: u32,         // of an expert's matrix that are made
  columns: u32,
  chosen: u32,       // pairs of a token
  strideA: u32,      // elements from one row to the next
  strideB: u32,
  firstA: u32,       // where in a row of A the rows of C begin, and in one of B its columns
  firstB: u32,
  matrixRows: u32,   // of an expert in C
  firstC: u32,       // the one of these that is made first
}

@group(0) @binding(0) var<uniform> params: Params;
//#include stored_vectors NAME="a" BINDING=1 STORAGE="f32"
//#include stored_vectors NAME="b" BINDING=2 STORAGE="f32"
//#include written_vectors NAME="c" BINDING=3
@group(0) @binding(4) var<storage, read> offsets: array<u32>;
//#if PICKED != "none"
@group(0) @binding(5) var<storage, read> list: array<u32>;
//#endif

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
