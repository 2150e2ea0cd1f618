// What the products with experts' matrices bind; grouped_product.wgsl says what it means.

struct Params {
  experts: u32,
  firstTile: u32,  // of this launch
  tileRows: u32,   // rows of a workgroup's tile
  columns: u32,    // of C that are made, or of gate and up
  depth: u32,      // terms of each sum, a multiple of 4
  chosen: u32,     // pairs of a token
  strideA: u32,    // elements from one row to the next
  strideC: u32,
  firstA: u32,     // where in a row of A the terms begin, and in one of C the columns, multiples of 4
  firstC: u32,
  matrixRows: u32, // of an expert in B
  firstB: u32,     // the one of these that the terms of the sums begin with (nn)
  scale: f32,
  //#if ADAPTED
  rank: u32,       // further terms of each sum
  innerParts: u32, // projections whose terms lie side by side in a row of inner: one for all columns, or gate and up
  //#endif
}

@group(0) @binding(0) var<uniform> params: Params;
//#include stored_vectors NAME="a" BINDING=1 STORAGE="f32"
//#include stored_vectors NAME="b" BINDING=2
//#if GATED
//#include written_pairs NAME="c" BINDING=3
//#if KEPT
//#include written_pairs NAME="gateUp" BINDING=4
//#endif
//#else
//#include written_vectors NAME="c" BINDING=3
//#endif
@group(0) @binding(5) var<storage, read> offsets: array<u32>;
//#if PICKED
@group(0) @binding(6) var<storage, read> list: array<u32>;
//#endif
//#if ADAPTED
//#include stored_vectors NAME="inner" BINDING=7 STORAGE="f32"
//#include stored_vectors NAME="further" BINDING=8 STORAGE="f32"
//#endif
//#if GATED

//#include silu VECTOR="vec2<f32>"
//#endif

// Which row of an expert's matrix (nt) makes a column, as in gemm.wgsl.
fn rowOfB(column: u32) -> u32 {
  //#if GATED
  let half = params.columns / 2u;
  return min(column / 4u * 2u + column % 2u, half - 1u) + select(0u, half, column % 4u >= 2u);
  //#else
  return min(column, params.columns - 1u);
  //#endif
}

// The expert, first place and end of its places of a tile of $ROWS rows; beyond the last tile an expert that there is not.
fn placesOfTile(number: u32) -> vec3<u32> {
  var tile = number;
  for (var expert = 0u; expert < params.experts; expert++) {
    let first = offsets[expert];
    let end = offsets[expert + 1u];
    let tiles = (end - first + $(ROWS-1)u) / $(ROWS)u;
    if (tile < tiles) { return vec3<u32>(expert, first + tile * $(ROWS)u, end); }
    tile -= tiles;
  }
  return vec3<u32>(params.experts, 0u, 0u);
}

// The row of A at a place.
fn rowOfA(place: u32) -> u32 {
  //#if PICKED
  return list[place] / params.chosen;
  //#else
  return place;
  //#endif
}
