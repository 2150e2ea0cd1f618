// What the kernels of a matrix product bind; gemm.wgsl says what it means.

struct Params {
  rows: u32,      // of C
  columns: u32,   // of C
  depth: u32,     // terms of each sum
  strideA: u32,   // elements from one row to the next
  strideB: u32,
  strideC: u32,
  firstC: u32,    // where the columns begin in a row of C, a multiple of 4
  firstA: u32,    // where in a row of A the depth (nt, nn) or the rows of C (tn) begin, a multiple of 4
  firstB: u32,    // where in a row of B the columns of C begin (nn, tn), a multiple of 4
  scale: f32,
  //#if TILE_ROWS
  tileRows: u32,  // rows of a workgroup's tile
  //#endif
  //#if ADAPTED
  rank: u32,      // further terms of each sum
  //#for n 0 ADAPTED
  from$n: u32,    // rows of B (nt) from which on sums have terms of projection $n,
  to$n: u32,      // those that have none any more,
  row$n: u32,     // and where the projection begins in the rows of further
  //#endfor
  //#endif
}

@group(0) @binding(0) var<uniform> params: Params;
//#if HALVES
@group(0) @binding(1) var<storage, read> a: array<vec4<u32>>;  // eight f16 each
//#else
//#include stored_vectors NAME="a" BINDING=1 STORAGE="f32"
//#endif
//#include stored_vectors NAME="b" BINDING=2
//#if GATED
//#include written_pairs NAME="c" BINDING=3
//#if KEPT
//#include written_pairs NAME="gateUp" BINDING=4
//#endif
//#else
//#include written_vectors NAME="c" BINDING=3
//#endif
//#if BIAS
//#include stored_vectors NAME="bias" BINDING=4 STORAGE="f32"
//#endif
//#if RESIDUAL
//#include stored_vectors NAME="residual" BINDING=5 STORAGE="f32"
//#endif

// Which row of B (nt) makes a column. GATED: of four columns of a lane two are of the gate and two are those of the up
// projection that they belong to, half of B's rows further on.
fn rowOfB(column: u32) -> u32 {
  //#if GATED
  let half = params.columns / 2u;
  return min(column / 4u * 2u + column % 2u, half - 1u) + select(0u, half, column % 4u >= 2u);
  //#else
  return min(column, params.columns - 1u);
  //#endif
}
//#if ADAPTED

//#include stored_vectors NAME="inner" BINDING=7 STORAGE="f32"
//#include stored_vectors NAME="further" BINDING=8 STORAGE="f32"

// Where the further terms of a row of B lie, in vectors: x in a row of inner, y in further, and how many, z.
fn furtherTerms(row: u32) -> vec3<u32> {
  let vectors = params.rank / 4u;
  var terms = vec3<u32>(0u);
  //#for n 0 ADAPTED
  if (row >= params.from$n && row < params.to$n) {
    terms = vec3<u32>($(n)u, row - params.from$n + params.row$n, 1u) * vectors;
  }
  //#endfor
  return terms;
}
//#endif
//#if GATED

//#include silu VECTOR="vec2<f32>"
//#endif
