// The product tn of gemm.wgsl on matrix units: sums over tokens, of a gradient (A) by what its weights were multiplied
// with (B), factors in f16, sums in f32, in the class of bits `mma`.
//
// Tokens come in runs (token_runs.ts), and a run in blocks of $MK of its own tokens, the last of them filled up with
// zeros. The blocks are added in ascending order, each by one matrix instruction, to what C holds. So it makes no
// difference how a batch is cut into launches as long as no run is, nor whether runs of zeros are left out.
//
// All factors of a run are multiplied by the power of two that brings its largest element near the end of f16's range,
// A's and B's by one each; where the next run has another one the sums, which the products of both scale, are
// multiplied by their ratio. Scales lie between bounds within which products and ratios are normal numbers, so that this
// rounds nothing; sums from 2^52 on may become infinite. A run of zeros changes nothing.
//
// Subgroups, matrices and slabs as in gemm_matrix.wgsl.

struct Params {
  rows: u32,      // of C
  columns: u32,   // of C
  slabs: u32,
  strideA: u32,   // elements from one row to the next
  strideB: u32,
  strideC: u32,
  firstA: u32,    // where in a row of A the rows of C begin, a multiple of 4
  headroom: u32,  // A's elements are up to 2^headroom times as large as `largestA` says
}

@group(0) @binding(0) var<uniform> params: Params;
//#include stored_vectors NAME="a" BINDING=1 STORAGE="f32"
//#include stored_vectors NAME="b" BINDING=2 STORAGE="f32"
//#include written_vectors NAME="c" BINDING=3
// Of at most $TK tokens of a run: the first, how many, and which run.
@group(0) @binding(4) var<storage, read> slabs: array<vec4<u32>>;
// The bits of the largest magnitude of each run.
@group(0) @binding(5) var<storage, read> largestA: array<u32>;
@group(0) @binding(6) var<storage, read> largestB: array<u32>;

//#include gemm_matrix_memory

// The exponent of the scale of a run, from -30 to 52 for A and from -16 to 24 for B: products of two of f16's smallest
// numbers stay normal, and the ratio of two runs' scales is a number. 128, of a scale that is infinite, for a run with
// numbers that are still too large for f16: so are the sums then.
fn exponentOf(bits: u32, headroom: i32, lowest: i32, highest: i32) -> i32 {
  let exponent = 141 - i32(bits >> 23u) - headroom;
  let isUsual = bits > 0u && bits < 0x7f800000u;
  return select(0, select(min(exponent, highest), 128, exponent < lowest), isUsual);
}

fn powerOfTwo(exponent: i32) -> f32 {
  return bitcast<f32>(u32(exponent + 127) << 23u);
}

fn exponentA(run: u32) -> i32 {
  return exponentOf(largestA[run], i32(params.headroom), -30, 52);
}

fn exponentB(run: u32) -> i32 {
  return exponentOf(largestB[run], 0, -16, 24);
}

// What the products of a run are scaled by.
fn exponentOfProducts(a: i32, b: i32) -> i32 {
  return select(a + b, 0, a == 128 || b == 128);
}

fn isEmpty(run: u32) -> bool {
  return largestA[run] == 0u || largestB[run] == 0u;
}

//#if PINNED
@subgroup_size($SUBGROUP)
//#endif
@compute @workgroup_size($(SX*SY*SUBGROUP))
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
  @builtin(subgroup_id) subgroup: u32,
  @builtin(subgroup_size) subgroupSize: u32,
  @builtin(subgroup_invocation_id) invocation: u32,
) {
  let firstRow = group.y * $(SY*RM*MM)u;
  let firstColumn = group.x * $(SX*RN*MN)u;
  let strideA = params.strideA / 4u;
  let strideB = params.strideB / 4u;
  let strideC = params.strideC / 4u;
  // Where a device's subgroups are smaller than its largest, there are more of them than matrices.
  let place = min(subgroup, $(SX*SY-1)u);
  let ownRow = place / $(SX)u * $(RM*MM)u;
  let ownColumn = place % $(SX)u * $(RN*MN)u;
  let own = place * $(MM*MN)u;
  // Of the power of two that the sums are scaled by.
  var exponent = 0;

  // Each subgroup's matrices begin with what C holds, one after the other through its part of workgroup memory.
  //#for m 0 RM
  //#for n 0 RN
  //#for i 0 WRITES
  {
    let vector = invocation + $(i)u * subgroupSize;
    let row = firstRow + ownRow + $(m*MM)u + vector / $(MN/4)u;
    let column = firstColumn + ownColumn + $(n*MN)u + vector % $(MN/4)u * 4u;
    if (subgroup < $(SX*SY)u && vector < $(MM*MN/4)u) {
      var value = vec4<f32>(0.0);
      if (row < params.rows && column < params.columns) {
        value = load_c(row * strideC + column / 4u);
      }
      //#for e 0 4
      results[own + 4u * vector + $(e)u] = value[$e];
      //#endfor
    }
  }
  //#endfor
  workgroupBarrier();
  var sums$(m*RN+n) = subgroupMatrixLoad<Sums, row_major>(&results, own, $(MN)u);
  workgroupBarrier();
  //#endfor
  //#endfor

  //#let VA=(SY*RM*MM*TK/4+SX*SY*SUBGROUP-1-(SY*RM*MM*TK/4+SX*SY*SUBGROUP-1)%(SX*SY*SUBGROUP))/(SX*SY*SUBGROUP) VB=(SX*RN*MN*TK/4+SX*SY*SUBGROUP-1-(SX*RN*MN*TK/4+SX*SY*SUBGROUP-1)%(SX*SY*SUBGROUP))/(SX*SY*SUBGROUP)
  // What a lane brings into workgroup memory of each slab, four columns of a token at a time. Neighbouring lanes have
  // neighbouring tokens, which lie beside one another there.
  //#for n 0 VA
  let itemA$n = lane + $(n*SX*SY*SUBGROUP)u;
  let columnA$n = itemA$n / $(TK)u * 4u;
  let tokenA$n = itemA$n % $(TK)u;
  let sourceA$n = min((params.firstA + firstRow + columnA$n) / 4u, strideA - 1u);
  let placeA$n = columnA$n * strideTile + tokenA$n;
  var valueA$n: vec4<f32>;
  //#endfor
  //#for n 0 VB
  let itemB$n = lane + $(n*SX*SY*SUBGROUP)u;
  let columnB$n = itemB$n / $(TK)u * 4u;
  let tokenB$n = itemB$n % $(TK)u;
  let sourceB$n = min((firstColumn + columnB$n) / 4u, strideB - 1u);
  let placeB$n = columnB$n * strideTile + tokenB$n;
  var valueB$n: vec4<f32>;
  //#endfor
  var slab = slabs[0];
  //#include gemm_matrix_runs_load
  for (var s = 0u; s < params.slabs; s++) {
    let tokens = slab.y;
    let isSummed = !isEmpty(slab.z);
    let ofA = exponentA(slab.z);
    let ofB = exponentB(slab.z);
    let scaleA = powerOfTwo(ofA);
    let scaleB = powerOfTwo(ofB);
    if (isSummed) {
      //#for n 0 VA
      //#if n*SX*SY*SUBGROUP+SX*SY*SUBGROUP > SY*RM*MM*TK/4
      if (itemA$n < $(SY*RM*MM*TK/4)u) {
      //#else
      {
      //#endif
        let halves = vec4<f16>(valueA$n * select(0.0, scaleA, tokenA$n < tokens));
        //#for e 0 4
        tileA[placeA$n + $(e)u * strideTile] = halves[$e];
        //#endfor
      }
      //#endfor
      //#for n 0 VB
      //#if n*SX*SY*SUBGROUP+SX*SY*SUBGROUP > SX*RN*MN*TK/4
      if (itemB$n < $(SX*RN*MN*TK/4)u) {
      //#else
      {
      //#endif
        let halves = vec4<f16>(valueB$n * select(0.0, scaleB, tokenB$n < tokens));
        //#for e 0 4
        tileB[placeB$n + $(e)u * strideTile] = halves[$e];
        //#endfor
      }
      //#endfor
    }
    workgroupBarrier();
    // The next slab is on its way while matrices are multiplied; the last one comes twice.
    slab = slabs[min(s + 1u, params.slabs - 1u)];
    //#include gemm_matrix_runs_load
    if (isSummed) {
      let ofProducts = exponentOfProducts(ofA, ofB);
      if (ofProducts != exponent) {
        let ratio = powerOfTwo(ofProducts - exponent);
        exponent = ofProducts;
        //#for i 0 RM*RN
        sums$i = subgroupMatrixScalarMultiply(sums$i, ratio);
        //#endfor
      }
      // A block without a token would add nothing.
      //#for b 0 TK/MK
      if (tokens > $(b*MK)u) {
        //#for m 0 RM
        let left$m = subgroupMatrixLoad<Left, row_major>(
          &tileA, (ownRow + $(m*MM)u) * strideTile + $(b*MK)u, strideTile);
        //#endfor
        //#for n 0 RN
        let right$n = subgroupMatrixLoad<Right, col_major>(
          &tileB, (ownColumn + $(n*MN)u) * strideTile + $(b*MK)u, strideTile);
        //#endfor
        //#for m 0 RM
        //#for n 0 RN
        sums$(m*RN+n) = subgroupMatrixMultiplyAccumulate(left$m, right$n, sums$(m*RN+n));
        //#endfor
        //#endfor
      }
      //#endfor
    }
    workgroupBarrier();
  }
  //#endlet

  let unscale = powerOfTwo(-exponent);
  //#for m 0 RM
  //#for n 0 RN
  subgroupMatrixStore<row_major>(&results, own, sums$(m*RN+n), $(MN)u);
  workgroupBarrier();
  //#for i 0 WRITES
  {
    let vector = invocation + $(i)u * subgroupSize;
    let row = firstRow + ownRow + $(m*MM)u + vector / $(MN/4)u;
    let column = firstColumn + ownColumn + $(n*MN)u + vector % $(MN/4)u * 4u;
    if (subgroup < $(SX*SY)u && vector < $(MM*MN/4)u && row < params.rows && column < params.columns) {
      store_c(row * strideC + column / 4u, resultAt(own + 4u * vector) * unscale);
    }
  }
  //#endfor
  workgroupBarrier();
  //#endfor
  //#endfor
}
