// The gradients of the experts' matrices; the variant for software drivers, grouped_gradient_tiled.wgsl gives the same
// bits:
//
//   C[e, i, j] += sum_p A[p, i] * B[p, j]
//
// over the places p of expert e (group_pairs.wgsl), which are in ascending order of tokens. PICKED says which of A and B has a row for each token, of
// which place p takes that of its own: "a", "b" or "none". The others have a row for each place. Rows i and columns j may be
// parts of the rows of A and B, and C some of the rows that an expert has.
//
// Every element's sum goes on from what C holds, in ascending order of tokens with one fma per term: batches that follow
// one another give the bits of one that has all their tokens. An expert without tokens is left as it is.
//
// A workgroup of $LANES lanes makes a tile of $ROWS rows by LANES * 4 columns of one expert's matrix, each lane four
// columns of all rows, as in gemm.wgsl; LOOPED as in grouped_product.wgsl. Rows of A, B and C are multiples of 4.

//#include grouped_gradient_bindings

@compute @workgroup_size($LANES)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(local_invocation_id) local: vec3<u32>,
) {
  let expert = params.firstExpert + group.z;
  let first = offsets[expert];
  let end = offsets[expert + 1u];
  if (first == end) { return; }
  let row = group.x * $(ROWS)u;
  let column = (group.y * $(LANES)u + local.x) * 4u;
  let strideA = params.strideA / 4u;
  let strideB = params.strideB / 4u;
  let strideC = params.columns / 4u;
  let tileRows = min(params.tileRows, params.rows - row);
  let columnVector = min(column / 4u, strideC - 1u);
  let vectorB = params.firstB / 4u + columnVector;
  let firstC = (expert * params.matrixRows + params.firstC + row) * strideC + columnVector;
  //#for g 0 ROWS/4
  let vectorA$g = params.firstA / 4u + min(row / 4u + $(g)u, params.rows / 4u - 1u);
  //#endfor
  var sums: array<vec4<f32>, $ROWS>;
  //#if LOOPED
  for (var r = 0u; r < tileRows; r++) {
    sums[min(r, $(ROWS-1)u)] = load_c(firstC + r * strideC);
  }
  //#else
  //#for r 0 ROWS
  sums[$r] = load_c(firstC + min($(r)u, tileRows - 1u) * strideC);
  //#endfor
  //#endif
  for (var place = first; place < end; place += 4u) {
    //#for t 0 4
    let place$t = min(place + $(t)u, end - 1u);
    let rowA$t = rowOfA(place$t) * strideA;
    let rowB$t = rowOfB(place$t) * strideB;
    let w$t = select(vec4<f32>(0.0), load_b(rowB$t + vectorB), place + $(t)u < end);
    //#endfor
    //#for g 0 ROWS/4
    {
      //#for t 0 4
      let x$t = load_a(rowA$t + vectorA$g);
      //#endfor
      //#for j 0 4
      {
        var sum = sums[$(4*g+j)];
        //#for t 0 4
        sum = fma(vec4<f32>(x$t[$j]), w$t, sum);
        //#endfor
        sums[$(4*g+j)] = sum;
      }
      //#endfor
    }
    //#endfor
  }
  if (column >= params.columns) { return; }
  //#if LOOPED
  for (var r = 0u; r < tileRows; r++) {
    store_c(firstC + r * strideC, sums[min(r, $(ROWS-1)u)]);
  }
  //#else
  //#for r 0 ROWS
  if ($(r)u < tileRows) { store_c(firstC + $(r)u * strideC, sums[$r]); }
  //#endfor
  //#endif
}
