// The matrix products of gemm.wgsl for hardware GPUs, with the same bindings, layouts and bits: every
// element is one ascending chain of fma, so which variant ran cannot be seen in the result.
//
// A workgroup of 16 x 16 lanes makes a tile of $(16*RM) rows by 64 columns; a lane makes $RM x 4 elements. Slices
// of A and B, 16 terms deep, pass through workgroup memory: tileA holds them as [term][row], tileB as
// [term][column], so that a lane reads vectors along its own rows and columns.

//#include gemm_bindings

// One padding element per term keeps the transposing stores of nt off a single bank.
var<workgroup> tileA: array<f32, $(16*(16*RM+1))>;
var<workgroup> tileB: array<f32, $(16*65)>;

@compute @workgroup_size(256)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  let firstRow = group.y * $(16*RM)u;
  let firstColumn = group.x * 64u;
  let laneRow = (lane / 16u) * $(RM)u;
  let laneColumn = (lane % 16u) * 4u;
  let column = firstColumn + laneColumn;
  let row = firstRow + laneRow;
  let lastRow = params.rows - 1u;
  let strideA = params.strideA / 4u;
  let strideB = params.strideB / 4u;
  let strideC = params.strideC / 4u;
  //#include gemm_start ROWS=RM

  for (var k = 0u; k < params.depth; k += 16u) {
    //#if LAYOUT == 2
    // A [term, row]: a lane copies vectors of rows of one term.
    for (var i = lane; i < $(64*RM)u; i += 256u) {
      let term = i / $(4*RM)u;
      let vector = i % $(4*RM)u;
      let inside = k + term < params.depth;
      let value = a[min(k + term, params.depth - 1u) * strideA + min((params.firstA + firstRow) / 4u + vector, strideA - 1u)];
      let kept = select(vec4<f32>(0.0), value, inside);
      let at = term * $(16*RM+1)u + vector * 4u;
      tileA[at] = kept.x;
      tileA[at + 1u] = kept.y;
      tileA[at + 2u] = kept.z;
      tileA[at + 3u] = kept.w;
    }
    //#else
    // A [row, term]: a lane copies four terms of one row.
    for (var i = lane; i < $(64*RM)u; i += 256u) {
      let rowOfTile = i / 4u;
      let vector = i % 4u;
      let index = k / 4u + vector;
      let place = min(params.firstA / 4u + index, strideA - 1u);
      let value = a[min(firstRow + rowOfTile, lastRow) * strideA + place];
      let kept = select(vec4<f32>(0.0), value, index * 4u < params.depth);
      let at = vector * $(4*(16*RM+1))u + rowOfTile;
      tileA[at] = kept.x;
      tileA[at + $(16*RM+1)u] = kept.y;
      tileA[at + $(2*(16*RM+1))u] = kept.z;
      tileA[at + $(3*(16*RM+1))u] = kept.w;
    }
    //#endif
    //#if LAYOUT == 0
    {
      let rowOfTile = lane / 4u;
      let vector = lane % 4u;
      let index = k / 4u + vector;
      let value = load_b(min(firstColumn + rowOfTile, params.columns - 1u) * strideB + min(index, strideB - 1u));
      let kept = select(vec4<f32>(0.0), value, index < strideB);
      let at = vector * 260u + rowOfTile;
      tileB[at] = kept.x;
      tileB[at + 65u] = kept.y;
      tileB[at + 130u] = kept.z;
      tileB[at + 195u] = kept.w;
    }
    //#else
    {
      let term = lane / 16u;
      let vector = lane % 16u;
      let value = load_b(
        min(k + term, params.depth - 1u) * strideB + min((params.firstB + firstColumn) / 4u + vector, strideB - 1u));
      let at = term * 65u + vector * 4u;
      tileB[at] = value.x;
      tileB[at + 1u] = value.y;
      tileB[at + 2u] = value.z;
      tileB[at + 3u] = value.w;
    }
    //#endif
    workgroupBarrier();
    //#for t 0 16
    let w$t = vec4<f32>(
      tileB[$(t*65)u + laneColumn], tileB[$(t*65+1)u + laneColumn],
      tileB[$(t*65+2)u + laneColumn], tileB[$(t*65+3)u + laneColumn]);
    //#for r 0 RM
    sum$r = fma(vec4<f32>(tileA[$(t*(16*RM+1)+r)u + laneRow]), w$t, sum$r);
    //#endfor
    //#endfor
    workgroupBarrier();
  }

  //#include gemm_write ROWS=RM
}
