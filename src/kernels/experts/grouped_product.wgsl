// Products of rows with the matrices of their experts, rows of one expert lying together (group_pairs.wgsl); the variant
// for software drivers and few rows, grouped_product_tiled.wgsl gives the same bits:
//
//   LAYOUT 0  nt   C[p, j] = sum_k A[p, k] * B[e, j, k]   forward:         A = x,   B = W [E, O, I]
//   LAYOUT 1  nn   C[p, j] = sum_k A[p, k] * B[e, k, j]   input gradient:  A = dy,  B = W [E, O, I]
//   ADAPTED   nt   C[p, j] + sum_k inner[p, n, k] * further[e, j, k]       and what an adapter adds: see below
//   SCALE          scale * C;    ACCUMULATE  the sums go on from what C holds
//
// p a place, e its expert. PICKED: A has a row for each token, and place p takes that of its token. GATED (nt): B's rows
// are a gate's, then those of what it lets through, C = act(gate) * up has half as many columns, and KEPT gateUp receives
// both.
//
// Every element is summed over k in ascending order with one fma per term, as in gemm.wgsl: a row has the same bits
// whichever other rows its expert has.
//
// ADAPTED: the chain goes on with the terms of inner, which has a row of each projection's terms for each place: of one
// that makes all columns, or of gate and up, n = 0 and 1. Further has a row for each row of B.
//
// Terms and columns may be parts of the rows of A and C, and the matrices of nn some of the rows that an expert has in B.
//
// A workgroup of $LANES lanes makes a tile of at most $ROWS rows of one expert by LANES * 4 columns; it finds its expert
// from the offsets, and there may be more workgroups than tiles. Each lane sums four columns of all rows, as in gemm.wgsl:
// no subgroup operations, no workgroup memory. Rows and columns of A, B and C are multiples of 4. LOOPED, for a CPU's lanes,
// lets the sums lie in memory, as gemm.wgsl says; a GPU's have them in registers.

//#include grouped_bindings

@compute @workgroup_size($LANES)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(local_invocation_id) local: vec3<u32>,
) {
  //#if LAYOUT == 0
  let column = (group.x * $(LANES)u + local.x) * 4u;
  let found = placesOfTile(params.firstTile + group.y);
  //#else
  let column = (group.y * $(LANES)u + local.x) * 4u;
  let found = placesOfTile(params.firstTile + group.x);
  //#endif
  let expert = found.x;
  let place = found.y;
  let end = found.z;
  if (expert == params.experts) { return; }
  let rows = min(params.tileRows, end - place);
  let vectors = params.depth / 4u;
  //#for r 0 ROWS
  let rowA$r = (rowOfA(min(place + $(r)u, end - 1u)) * params.strideA + params.firstA) / 4u;
  //#endfor
  //#if LAYOUT == 0
  let strideB = vectors;
  let matrix = expert * params.matrixRows;
  //#for n 0 4
  let rowB$n = (matrix + rowOfB(column + $(n)u)) * strideB;
  //#endfor
  //#else
  let strideB = params.columns / 4u;
  let matrix = expert * params.matrixRows + params.firstB;
  let columnVector = min(column / 4u, strideB - 1u);
  //#endif
  var sums: array<vec4<f32>, $ROWS>;
  //#if ACCUMULATE
  let firstSums = (params.firstC + min(column, params.columns - 4u)) / 4u;
  //#if LOOPED
  for (var r = 0u; r < rows; r++) {
    sums[min(r, $(ROWS-1)u)] = load_c((place + r) * (params.strideC / 4u) + firstSums);
  }
  //#else
  //#for r 0 ROWS
  sums[$r] = load_c(min(place + $(r)u, end - 1u) * (params.strideC / 4u) + firstSums);
  //#endfor
  //#endif
  //#endif
  for (var k = 0u; k < vectors; k++) {
    //#if LAYOUT == 0
    //#for n 0 4
    let b$n = load_b(rowB$n + k);
    //#endfor
    //#for t 0 4
    let w$t = vec4<f32>(b0[$t], b1[$t], b2[$t], b3[$t]);
    //#endfor
    //#else
    //#for t 0 4
    let w$t = load_b((matrix + k * 4u + $(t)u) * strideB + columnVector);
    //#endfor
    //#endif
    //#for r 0 ROWS
    {
      let x = load_a(rowA$r + k);
      var sum = sums[$r];
      //#for t 0 4
      sum = fma(vec4<f32>(x[$t]), w$t, sum);
      //#endfor
      sums[$r] = sum;
    }
    //#endfor
  }
  //#if ADAPTED
  //#for r 0 ROWS
  let inner$r = min(place + $(r)u, end - 1u) * (params.innerParts * params.rank / 4u);
  //#endfor
  //#endif
  //#include grouped_further BEFORE="sums[" AFTER="]" COLUMN="column"
  if (column >= params.columns) { return; }
  //#if LOOPED
  for (var r = 0u; r < rows; r++) {
    let value = sums[min(r, $(ROWS-1)u)];
    //#include grouped_write PLACE="place+r" COLUMN="column"
  }
  //#else
  //#for r 0 ROWS
  if ($(r)u < rows) {
    let value = sums[$r];
    //#include grouped_write PLACE="place+"+r+"u" COLUMN="column"
  }
  //#endfor
  //#endif
}
