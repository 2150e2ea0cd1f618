// The product nt of gemm.wgsl for $ROWS rows on hardware GPUs, with the same bits: each element is one ascending chain
// of fma. Decoding a few sequences is reading B, and what that takes is bytes on their way at any time; tiles of 32
// columns and 32 terms have far too few.
//
// A workgroup makes $COLUMNS columns. Its $LANES lanes load $TERMS terms of them all, and keep in registers what they have
// asked for while the first $(ROWS*COLUMNS) lanes, one for each element, go on with the sums over the terms before, which lie in
// workgroup memory: as vectors of four terms, every eighth of a column in an array of its own, whose number who reads
// names by a constant, so that one place is computed (and clamped by the native engine) for eight vectors. The arrays
// are an odd number of vectors long: neither the eight lanes that write neighbouring vectors meet in a bank nor those
// that read all columns.

//#include gemm_bindings TILE_ROWS=false HALVES=false

var<workgroup> slabA: array<array<vec4<f32>, $(TERMS/32*ROWS+1)>, 8>;
var<workgroup> slabB: array<array<vec4<f32>, $(TERMS/32*COLUMNS+1)>, 8>;
var<workgroup> results: array<f32, $(ROWS*COLUMNS)>;

@compute @workgroup_size($LANES)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  let firstRow = group.y * $(ROWS)u;
  let firstColumn = group.x * $(COLUMNS)u;
  let lastRow = params.rows - 1u;
  let strideA = params.strideA / 4u;
  let strideB = params.strideB / 4u;
  let strideC = params.strideC / 4u;
  let vectors = params.depth / 4u;
  let ownRow = min(lane / $(COLUMNS)u, $(ROWS-1)u);
  let ownColumn = lane % $(COLUMNS)u;
  //#if ACCUMULATE
  let lastVectorC = (params.firstC + params.columns + 3u) / 4u - 1u;
  let startColumn = min((params.firstC + firstColumn + ownColumn) / 4u, lastVectorC);
  var sum = load_c(min(firstRow + ownRow, lastRow) * strideC + startColumn)[ownColumn % 4u];
  //#else
  var sum = 0.0;
  //#endif

  // What this lane copies of every slab: vectors a slab's lanes apart, of one column or of several, and of a row.
  let slice = lane % $(TERMS/4)u;
  //#for n 0 COLUMNS*TERMS/4/LANES
  let column$n = lane / $(TERMS/4)u + $(n*LANES*4/TERMS)u;
  let startB$n = rowOfB(firstColumn + column$n) * strideB;
  //#endfor
  //#for n 0 ROWS*TERMS/4/LANES
  let rowA$n = min(lane / $(TERMS/4)u + $(n*LANES*4/TERMS)u, $(ROWS-1)u);
  let startA$n = min(firstRow + rowA$n, lastRow) * strideA + params.firstA / 4u;
  //#endfor
  //#for n 0 COLUMNS*TERMS/4/LANES
  var nextB$n = load_b(startB$n + min(slice, vectors - 1u));
  //#endfor
  //#for n 0 ROWS*TERMS/4/LANES
  var nextA$n = load_a(startA$n + min(slice, vectors - 1u));
  //#endfor

  for (var first = 0u; first < vectors; first += $(TERMS/4)u) {
    // Terms beyond the depth are 0 in A, and anything finite in B.
    let isInside = first + slice < vectors;
    //#for n 0 COLUMNS*TERMS/4/LANES
    slabB[slice % 8u][slice / 8u * $(COLUMNS)u + column$n] = nextB$n;
    //#endfor
    //#for n 0 ROWS*TERMS/4/LANES
    //#if (n+1)*LANES*4 > ROWS*TERMS
    if (lane < $(ROWS*TERMS/4-n*LANES)u) {
    //#else
    {
    //#endif
      slabA[slice % 8u][slice / 8u * $(ROWS)u + rowA$n] = select(vec4<f32>(0.0), nextA$n, isInside);
    }
    //#endfor
    workgroupBarrier();
    if (first + $(TERMS/4)u < vectors) {
      let next = min(first + $(TERMS/4)u + slice, vectors - 1u);
      //#for n 0 COLUMNS*TERMS/4/LANES
      nextB$n = load_b(startB$n + next);
      //#endfor
      //#for n 0 ROWS*TERMS/4/LANES
      nextA$n = load_a(startA$n + next);
      //#endfor
    }
    if (lane < $(ROWS*COLUMNS)u) {
      let count = (min(vectors - first, $(TERMS/4)u) + 7u) / 8u;
      for (var v = 0u; v < count; v++) {
        let placeA = v * $(ROWS)u + ownRow;
        let placeB = v * $(COLUMNS)u + ownColumn;
        //#for i 0 8
        let a$i = slabA[$i][placeA];
        let b$i = slabB[$i][placeB];
        //#endfor
        //#for i 0 8
        //#for e 0 4
        sum = fma(a$i[$e], b$i[$e], sum);
        //#endfor
        //#endfor
      }
    }
    workgroupBarrier();
  }

  if (lane < $(ROWS*COLUMNS)u) {
    results[lane] = sum;
  }
  workgroupBarrier();
  if (lane < $(ROWS*COLUMNS/4)u) {
    let row = firstRow + lane / $(COLUMNS/4)u;
    let column = firstColumn + lane % $(COLUMNS/4)u * 4u;
    let at = lane * 4u;
    var value0 = vec4<f32>(results[at], results[at + 1u], results[at + 2u], results[at + 3u]);
    //#if ADAPTED
    let row0 = row;
    //#include gemm_further ROWS=1 BEFORE="value" AFTER="" COLUMN="column"
    //#endif
    //#include gemm_write_vector SUM="value0" ROW="row" COLUMN="column"
  }
}
