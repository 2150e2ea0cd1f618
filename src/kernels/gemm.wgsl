// One matrix product in the three layouts a linear layer needs, for any number of rows; the variant for
// software drivers. gemm_tiled.wgsl gives the same bits on hardware.
//
//   LAYOUT 0  nt   C[i, j] = sum_k A[i, k] * B[j, k]   forward:          A = x [T, I],  B = W [O, I]
//   LAYOUT 1  nn   C[i, j] = sum_k A[i, k] * B[k, j]   input gradient:   A = dy [T, O], B = W [O, I]
//   LAYOUT 2  tn   C[i, j] = sum_k A[k, i] * B[k, j]   weight gradient:  A = dy [T, O], B = x [T, I]
//
// Every element is summed over k in ascending order with one fma per term, whatever the shape: a row
// has the same bits alone and in a batch, and a weight gradient the same bits in one batch or in
// several that follow one another (ACCUMULATE starts from what C holds).
//
// A workgroup of $LANES lanes makes a tile of 16 rows by LANES * 4 columns. Each lane holds four columns
// of all rows in registers and loads its own columns of B; eight lanes load the rows of A between them
// and share every value by a broadcast from a constant lane, which this driver does in a register.
// Needs subgroups of at least 8 lanes and no workgroup memory.
//
// Row strides are multiples of 4 elements. A's padding beyond the depth (nt, nn) holds zeros, and in nt
// the depth itself is a multiple of 4.

//#include gemm_bindings

@compute @workgroup_size($LANES)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(local_invocation_id) local: vec3<u32>,
  @builtin(subgroup_invocation_id) invocation: u32,
) {
  let row = group.y * 16u;
  let column = (group.x * $(LANES)u + local.x) * 4u;
  let lastRow = params.rows - 1u;
  let lastDepth = params.depth - 1u;
  let strideA = params.strideA / 4u;
  let strideB = params.strideB / 4u;
  let strideC = params.strideC / 4u;
  //#include gemm_start ROWS=16

//#if LAYOUT == 2
  // Four terms at a time: lane t loads the 16 rows' elements of term t.
  let term = invocation & 3u;
  let columnVector = min((params.firstB + column) / 4u, strideB - 1u);
  let lastVector = strideA - 1u;
  //#for g 0 4
  let vector$g = min((params.firstA + row) / 4u + $(g)u, lastVector);
  //#endfor
  for (var k = 0u; k < params.depth; k += 4u) {
    let inside = k + term < params.depth;
    let rowA = min(k + term, lastDepth) * strideA;
    //#for g 0 4
    let a$g = select(vec4<f32>(0.0), a[rowA + vector$g], inside);
    //#endfor
    //#for t 0 4
    let w$t = load_b(min(k + $(t)u, lastDepth) * strideB + columnVector);
    //#endfor
    // Term by term within four rows: a row's sums stay in registers for four fma.
    //#for g 0 4
    //#for t 0 4
    let a$(t)_$(g) = subgroupBroadcast(a$g, $(t)u);
    //#endfor
    //#for t 0 4
    sum$(g*4) = fma(vec4<f32>(a$(t)_$(g).x), w$t, sum$(g*4));
    //#endfor
    //#for t 0 4
    sum$(g*4+1) = fma(vec4<f32>(a$(t)_$(g).y), w$t, sum$(g*4+1));
    //#endfor
    //#for t 0 4
    sum$(g*4+2) = fma(vec4<f32>(a$(t)_$(g).z), w$t, sum$(g*4+2));
    //#endfor
    //#for t 0 4
    sum$(g*4+3) = fma(vec4<f32>(a$(t)_$(g).w), w$t, sum$(g*4+3));
    //#endfor
    //#endfor
  }
//#else
  let lane = invocation & 7u;
  //#for g 0 2
  let rowA$g = min(row + $(g)u * 8u + lane, lastRow) * strideA + params.firstA / 4u;
  //#endfor
  //#if LAYOUT == 0
  let lastColumn = params.columns - 1u;
  //#for n 0 4
  let rowB$n = min(column + $(n)u, lastColumn) * strideB;
  //#endfor
  //#else
  let columnVector = min((params.firstB + column) / 4u, strideB - 1u);
  //#endif
  let blocks = (params.depth + 3u) / 4u;
  for (var k = 0u; k < blocks; k++) {
    //#if LAYOUT == 0
    //#for n 0 4
    let b$n = load_b(rowB$n + k);
    //#endfor
    let w0 = vec4<f32>(b0.x, b1.x, b2.x, b3.x);
    let w1 = vec4<f32>(b0.y, b1.y, b2.y, b3.y);
    let w2 = vec4<f32>(b0.z, b1.z, b2.z, b3.z);
    let w3 = vec4<f32>(b0.w, b1.w, b2.w, b3.w);
    //#else
    //#for n 0 4
    let w$n = load_b(min(k * 4u + $(n)u, lastDepth) * strideB + columnVector);
    //#endfor
    //#endif
    //#for g 0 2
    let a$g = a[rowA$g + k];
    //#for l 0 8
    let a$(g)_$(l) = subgroupBroadcast(a$g, $(l)u);
    sum$(g*8+l) = fma(vec4<f32>(a$(g)_$(l).x), w0, sum$(g*8+l));
    sum$(g*8+l) = fma(vec4<f32>(a$(g)_$(l).y), w1, sum$(g*8+l));
    sum$(g*8+l) = fma(vec4<f32>(a$(g)_$(l).z), w2, sum$(g*8+l));
    sum$(g*8+l) = fma(vec4<f32>(a$(g)_$(l).w), w3, sum$(g*8+l));
    //#endfor
    //#endfor
  }
//#endif

  //#include gemm_write ROWS=16
}
