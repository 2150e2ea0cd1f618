// The matrix products of gemm.wgsl for hardware GPUs, with the same bindings, layouts and bits: every
// element is one ascending chain of fma, so neither the variant nor the tile can be seen in the result.
//
// A workgroup of $LX by $LY lanes makes a tile of $(LY*RM) rows by $(LX*RN) columns; a lane makes $RM by $RN elements.
// Slabs of A and B, $TK terms deep, pass through workgroup memory as vectors, which lie there as they lie in the
// buffers, so that nothing is transposed: where a row holds the terms (A in nt and nn, B in nt) a vector is four
// terms, in [term / 4][row], else four rows or columns, in [term][vector]. Whoever reads names the first index by a
// constant, so that only the place within it is computed (and clamped by the native engine), once for all slabs.
//
// Workgroup memory has 32 banks of 4 bytes and serves 16-byte vectors to 8 lanes at a time, which must fall into
// different vectors mod 8, or into the same one:
//  - Reading, lanes in a row of the workgroup's grid read neighbouring vectors, those in a column the same one. A
//    lane's columns are whole vectors of C, so nt keeps columns 0, 4, 8, … apart from 1, 5, 9, …
//  - Writing vectors of terms, 8 lanes write $(TK/4) slices of neighbouring rows: a slice begins $(32/TK) (mod 8) after the last.
//  - Writing vectors of rows or columns, they write neighbouring ones.
//
// AHEAD: a lane asks for its vectors of the next slab before it multiplies this one, and holds them meanwhile: more
// registers, and memory is waited for beside the sums.

//#include gemm_bindings TILE_ROWS=false HALVES=false

//#if LAYOUT == 2
var<workgroup> tileA: array<array<vec4<f32>, $(LY*RM/4)>, $TK>;
//#else
var<workgroup> tileA: array<array<vec4<f32>, $(LY*RM+(8-LY*RM%8)%8+32/TK)>, $(TK/4)>;
//#endif
//#if LAYOUT == 0
var<workgroup> tileB: array<array<vec4<f32>, $(LX*RN+4+(32/TK+4)%8)>, $(TK/4)>;
//#else
var<workgroup> tileB: array<array<vec4<f32>, $(LX*RN/4)>, $TK>;
//#endif

@compute @workgroup_size($(LX*LY))
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  let firstRow = group.y * $(LY*RM)u;
  let firstColumn = group.x * $(LX*RN)u;
  let lx = lane % $(LX)u;
  let ly = lane / $(LX)u;
  let lastRow = params.rows - 1u;
  let lastDepth = params.depth - 1u;
  let strideA = params.strideA / 4u;
  let strideB = params.strideB / 4u;
  let strideC = params.strideC / 4u;
  //#for q 0 RN/4
  let column$q = firstColumn + ($(q*LX)u + lx) * 4u;
  //#endfor
  //#for r 0 RM
  //#if LAYOUT == 2
  let row$r = firstRow + ($((r-r%4)/4*LY)u + ly) * 4u + $(r%4)u;
  //#else
  let row$r = firstRow + $(r*LY)u + ly;
  //#endif
  //#endfor
  //#if ACCUMULATE
  let lastVectorC = (params.firstC + params.columns + 3u) / 4u - 1u;
  //#endif
  //#for r 0 RM
  //#for q 0 RN/4
  //#include gemm_start_vector SUM="sum"+r+"_"+q ROW="row"+r COLUMN="column"+q
  //#endfor
  //#endfor

  // What this lane copies of every slab.
  //#if LAYOUT == 2
  let vectorA = lane % $(LY*RM/4)u;
  let termA = lane / $(LY*RM/4)u;
  let placeA = min((params.firstA + firstRow) / 4u + vectorA, strideA - 1u);
  //#else
  let sliceA = lane % $(TK/4)u;
  let rowA = lane / $(TK/4)u;
  //#for n 0 LY*RM*TK/4/(LX*LY)
  let startA$n = min(firstRow + rowA + $(n*LX*LY*4/TK)u, lastRow) * strideA;
  //#endfor
  //#endif
  //#if LAYOUT == 0
  let sliceB = lane % $(TK/4)u;
  let rowB = lane / $(TK/4)u;
  //#for n 0 LX*RN*TK/4/(LX*LY)
  let startB$n = rowOfB(firstColumn + rowB + $(n*LX*LY*4/TK)u) * strideB;
  //#endfor
  //#else
  let vectorB = lane % $(LX*RN/4)u;
  let termB = lane / $(LX*RN/4)u;
  let placeB = min((params.firstB + firstColumn) / 4u + vectorB, strideB - 1u);
  //#endif

  //#if AHEAD
  //#for n 0 LY*RM*TK/4/(LX*LY)
  var valueA$n: vec4<f32>;
  //#include gemm_tiled_load_a N=n AT="0u"
  //#endfor
  //#for n 0 LX*RN*TK/4/(LX*LY)
  var valueB$n: vec4<f32>;
  //#include gemm_tiled_load_b N=n AT="0u"
  //#endfor
  //#endif
  for (var k = 0u; k < params.depth; k += $(TK)u) {
    // Terms beyond the depth are 0 in A, and anything finite in B.
    //#for n 0 LY*RM*TK/4/(LX*LY)
    //#if n*LX*LY+LX*LY > LY*RM*TK/4
    if (lane < $(LY*RM*TK/4-n*LX*LY)u) {
    //#else
    {
    //#endif
      //#if !AHEAD
      var valueA$n: vec4<f32>;
      //#include gemm_tiled_load_a N=n AT="k"
      //#endif
      //#if LAYOUT == 2
      let term = termA + $(n*LX*LY/(LY*RM/4))u;
      tileA[term][vectorA] = select(vec4<f32>(0.0), valueA$n, k + term < params.depth);
      //#else
      let isTerm = (k / 4u + sliceA) * 4u < params.depth;
      tileA[sliceA][rowA + $(n*LX*LY*4/TK)u] = select(vec4<f32>(0.0), valueA$n, isTerm);
      //#endif
    }
    //#endfor
    //#for n 0 LX*RN*TK/4/(LX*LY)
    //#if n*LX*LY+LX*LY > LX*RN*TK/4
    if (lane < $(LX*RN*TK/4-n*LX*LY)u) {
    //#else
    {
    //#endif
      //#if !AHEAD
      var valueB$n: vec4<f32>;
      //#include gemm_tiled_load_b N=n AT="k"
      //#endif
      //#if LAYOUT == 0
      let column = rowB + $(n*LX*LY*4/TK)u;
      tileB[sliceB][column % 4u * $(LX*RN/4+1)u + column / 4u] = valueB$n;
      //#else
      tileB[termB + $(n*LX*LY/(LX*RN/4))u][vectorB] = valueB$n;
      //#endif
    }
    //#endfor
    workgroupBarrier();
    //#if AHEAD
    if (k + $(TK)u < params.depth) {
      //#for n 0 LY*RM*TK/4/(LX*LY)
      //#include gemm_tiled_load_a N=n AT="(k+"+TK+"u)"
      //#endfor
      //#for n 0 LX*RN*TK/4/(LX*LY)
      //#include gemm_tiled_load_b N=n AT="(k+"+TK+"u)"
      //#endfor
    }
    //#endif
    //#for s 0 TK/4
    //#if LAYOUT != 2
    //#for r 0 RM
    let x$(s)_$(r) = tileA[$(s)u][$(r*LY)u + ly];
    //#endfor
    //#endif
    //#if LAYOUT == 0
    //#for q 0 RN/4
    //#for e 0 4
    let b$(s)_$(q)_$(e) = tileB[$(s)u][$(e*(LX*RN/4+1)+q*LX)u + lx];
    //#endfor
    //#endfor
    //#endif
    //#for t 0 4
    //#if LAYOUT == 2
    //#for g 0 RM/4
    let x$(s)_$(t)_$(g) = tileA[$(s*4+t)u][$(g*LY)u + ly];
    //#endfor
    //#endif
    //#for q 0 RN/4
    //#if LAYOUT == 0
    let w$(s)_$(t)_$(q) = vec4<f32>(b$(s)_$(q)_0[$t], b$(s)_$(q)_1[$t], b$(s)_$(q)_2[$t], b$(s)_$(q)_3[$t]);
    //#else
    let w$(s)_$(t)_$(q) = tileB[$(s*4+t)u][$(q*LX)u + lx];
    //#endif
    //#endfor
    //#for r 0 RM
    //#if LAYOUT == 2
    let a$(s)_$(t)_$(r) = vec4<f32>(x$(s)_$(t)_$((r-r%4)/4)[$(r%4)]);
    //#else
    let a$(s)_$(t)_$(r) = vec4<f32>(x$(s)_$(r)[$t]);
    //#endif
    //#for q 0 RN/4
    sum$(r)_$(q) = fma(a$(s)_$(t)_$(r), w$(s)_$(t)_$(q), sum$(r)_$(q));
    //#endfor
    //#endfor
    //#endfor
    //#endfor
    workgroupBarrier();
  }

  //#for q 0 RN/4
  //#include gemm_further ROWS=RM BEFORE="sum" AFTER="_"+q COLUMN="column"+q
  //#endfor
  //#for r 0 RM
  //#for q 0 RN/4
  //#include gemm_write_vector SUM="sum"+r+"_"+q ROW="row"+r COLUMN="column"+q
  //#endfor
  //#endfor
}
