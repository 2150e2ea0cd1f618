// The product nt (gemm.wgsl) for a few rows, $ROWS at a time, on a software driver: decoding a few sequences reads
// all weights for little arithmetic, and a tile of many rows would spend its time on rows that are not there.
//
// A lane sums four columns of all rows, k ascending, with one fma per term: the bits of gemm.wgsl. All lanes read
// the same vector of A. A longer step than one vector of each column fits no registers and is slower.

//#include gemm_bindings TILE_ROWS=false HALVES=false

@compute @workgroup_size($LANES)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(local_invocation_id) local: vec3<u32>,
) {
  let row = group.y * $(ROWS)u;
  let column = (group.x * $(LANES)u + local.x) * 4u;
  let lastRow = params.rows - 1u;
  let strideB = params.strideB / 4u;
  let strideC = params.strideC / 4u;
  //#include gemm_start ROWS=ROWS

  //#for r 0 ROWS
  let rowA$r = min(row + $(r)u, lastRow) * (params.strideA / 4u) + params.firstA / 4u;
  //#endfor
  //#for n 0 4
  let rowB$n = rowOfB(column + $(n)u) * strideB;
  //#endfor
  let blocks = (params.depth + 3u) / 4u;
  for (var k = 0u; k < blocks; k++) {
    //#for n 0 4
    let b$n = load_b(rowB$n + k);
    //#endfor
    //#for r 0 ROWS
    let x$r = load_a(rowA$r + k);
    //#for e 0 4
    sum$r = fma(vec4<f32>(x$r[$e]), vec4<f32>(b0[$e], b1[$e], b2[$e], b3[$e]), sum$r);
    //#endfor
    //#endfor
  }

  //#include gemm_write ROWS=ROWS
}
