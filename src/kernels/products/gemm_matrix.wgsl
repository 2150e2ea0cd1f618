// The products nt and nn of gemm.wgsl on matrix units: factors in f16, sums in f32, in the class of bits `mma`, or
// factors in f32 too (FULL), which are taken as they are, in the class `mma-f32`. An element of C is the sum of blocks of $MK terms, ascending, each by one matrix instruction; how a tile lies makes no
// difference as long as the instruction treats its rows and columns alike, which the engine tests when it opens.
//
// A row of A is multiplied by a power of two that brings its largest element near the end of f16's range, and the sums
// are divided by it: neither small gradients nor large activations leave the range, and the scaling itself rounds
// nothing. half_rows.wgsl has put its rows in f16 in that way; SCANNED: of few rows the
// workgroup looks for the largest elements itself, and A is f32. B, the weights, is multiplied by 64: those below 1023
// are kept, and those above 1e-6 with all bits; larger ones become infinite, so that no update comes of them.
//
// PAIR: each factor is the sum of two f16, of whose products all but low * low are summed, the ones with a low part for
// themselves.
//
// $SY by $SX subgroups of at most $SUBGROUP lanes make a tile of $(SY*RM*MM) rows by $(SX*RN*MN) columns, a subgroup
// $RM by $RN matrices of $MM by $MN. Slabs of $TK terms pass through workgroup memory, 16 bytes more from row to row so
// that rows do not meet in its banks.

//#include gemm_bindings TILE_ROWS=false
//#if SCANNED
var<workgroup> largest: array<atomic<u32>, $(SY*RM*MM)>;
var<workgroup> scales: array<f32, $(SY*RM*MM)>;
//#endif
//#if !HALVES

//#include scale_of_largest
//#else
@group(0) @binding(6) var<storage, read> rowScales: array<f32>;
//#endif
//#if !FULL

// The scale of a row of A, of a workgroup that begins with row `first`.
fn scaleOf(row: u32, first: u32) -> f32 {
  //#if SCANNED
  return scales[row - first];
  //#else
  return rowScales[row];
  //#endif
}
//#endif

//#include gemm_matrix_memory
//#if PAIR
var<workgroup> tileALow: array<Element, $(SY*RM*MM*STRIDE)>;
var<workgroup> tileBLow: array<Element, $(SX*RN*MN*STRIDE)>;
//#endif
//#if !FULL
const weightScale = 64.0;

// What f16 cannot hold is made infinite before it is converted: a driver that rounds towards zero would keep it finite.
fn weight(value: vec4<f32>) -> vec4<f32> {
  let scaled = value * weightScale;
  return select(scaled, scaled * 3.0e38, abs(scaled) >= vec4<f32>(65520.0));
}

//#include f16_parts
//#endif

//#if HALVES
//#include gemm_matrix_copy NAME="A"
//#if PAIR

//#include gemm_matrix_copy NAME="ALow"
//#endif
//#else
//#include gemm_matrix_put NAME="A"
//#endif

//#if LAYOUT == 0
//#include gemm_matrix_put NAME="B"
//#else
//#include gemm_matrix_put_across
//#endif

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
  let lastRow = params.rows - 1u;
  //#if !HALVES
  let strideA = params.strideA / 4u;
  let lastOfA = strideA - 1u - params.firstA / 4u;
  //#endif
  let strideB = params.strideB / 4u;
  let strideC = params.strideC / 4u;
  // Where a device's subgroups are smaller than its largest, there are more of them than matrices.
  let place = min(subgroup, $(SX*SY-1)u);
  let ownRow = place / $(SX)u * $(RM*MM)u;
  let ownColumn = place % $(SX)u * $(RN*MN)u;

  //#for i 0 RM*RN
  var sums$i: Sums;
  //#if PAIR
  var lowSums$i: Sums;
  //#endif
  //#endfor

  //#if SCANNED
  // Nobody has cleared this memory: the engine may leave that out.
  for (var row = lane; row < $(SY*RM*MM)u; row += $(SX*SY*SUBGROUP)u) {
    atomicStore(&largest[row], 0u);
  }
  workgroupBarrier();
  let scannedRows = min(params.rows - firstRow, $(SY*RM*MM)u);
  // Four rows at a time: that many loads wait together.
  for (var four = 0u; four < scannedRows; four += 4u) {
    //#for n 0 4
    let scanned$n = min(four + $(n)u, scannedRows - 1u);
    let start$n = (firstRow + scanned$n) * strideA + params.firstA / 4u;
    var own$n = vec4<u32>(0u);
    //#endfor
    for (var i = lane; i < (params.depth + 3u) / 4u; i += $(SX*SY*SUBGROUP)u) {
      //#for n 0 4
      let value$n = counted(load_a(start$n + i), i * 4u, params.depth);
      //#endfor
      //#for n 0 4
      own$n = max(own$n, magnitudes(value$n));
      //#endfor
    }
    //#for n 0 4
    let largest$n = subgroupMax(max(max(own$n.x, own$n.y), max(own$n.z, own$n.w)));
    if (invocation == 0u) {
      atomicMax(&largest[scanned$n], largest$n);
    }
    //#endfor
  }
  workgroupBarrier();
  for (var row = lane; row < $(SY*RM*MM)u; row += $(SX*SY*SUBGROUP)u) {
    scales[row] = scaleOfLargest(atomicLoad(&largest[row]));
  }
  workgroupBarrier();
  //#endif

  //#let AV=4+4*HALVES
  //#let VA=(SY*RM*MM*TK/AV+SX*SY*SUBGROUP-1-(SY*RM*MM*TK/AV+SX*SY*SUBGROUP-1)%(SX*SY*SUBGROUP))/(SX*SY*SUBGROUP) VB=(SX*RN*MN*TK/4+SX*SY*SUBGROUP-1-(SX*RN*MN*TK/4+SX*SY*SUBGROUP-1)%(SX*SY*SUBGROUP))/(SX*SY*SUBGROUP)
  // What a lane brings into workgroup memory of each slab: of A vectors of $(AV) elements, of B of 4.
  //#for n 0 VA
  let itemA$n = lane + $(n*SX*SY*SUBGROUP)u;
  let rowA$n = itemA$n / $(TK/AV)u;
  let vectorA$n = itemA$n % $(TK/AV)u;
  let placeA$n = rowA$n * strideTile + vectorA$n * $(AV)u;
  //#if !HALVES
  let sourceA$n = min(firstRow + rowA$n, lastRow) * strideA + params.firstA / 4u;
  var valueA$n: vec4<f32>;
  //#else
  let sourceA$n = min(firstRow + rowA$n, lastRow) * (params.strideA / 8u) + vectorA$n;
  var valueA$n: vec4<u32>;
  //#if PAIR
  var lowA$n: vec4<u32>;
  //#endif
  //#endif
  //#endfor
  //#for n 0 VB
  let itemB$n = lane + $(n*SX*SY*SUBGROUP)u;
  //#if LAYOUT == 0
  let columnB$n = itemB$n / $(TK/4)u;
  let termB$n = itemB$n % $(TK/4)u * 4u;
  let sourceB$n = rowOfB(firstColumn + columnB$n) * strideB;
  //#else
  // Neighbouring lanes have neighbouring terms, which lie beside one another in workgroup memory.
  let columnB$n = itemB$n / $(TK)u * 4u;
  let termB$n = itemB$n % $(TK)u;
  let sourceB$n = min((params.firstB + firstColumn + columnB$n) / 4u, strideB - 1u);
  //#endif
  let placeB$n = columnB$n * strideTile + termB$n;
  var valueB$n: vec4<f32>;
  //#endfor
  {
    //#include gemm_matrix_load AT="0u"
  }
  for (var k = 0u; k < params.depth; k += $(TK)u) {
    //#for n 0 VA
    //#if n*SX*SY*SUBGROUP+SX*SY*SUBGROUP > SY*RM*MM*TK/AV
    if (itemA$n < $(SY*RM*MM*TK/AV)u) {
    //#else
    {
    //#endif
      //#if !HALVES
      let terms = select(0u, params.depth, firstRow + rowA$n < params.rows);
      let value = counted(valueA$n, k + vectorA$n * 4u, terms);
      //#if FULL
      putA(placeA$n, value);
      //#else
      putA(placeA$n, value * scaleOf(min(firstRow + rowA$n, lastRow), firstRow));
      //#endif
      //#else
      copyA(placeA$n, valueA$n);
      //#if PAIR
      copyALow(placeA$n, lowA$n);
      //#endif
      //#endif
    }
    //#endfor
    //#for n 0 VB
    //#if n*SX*SY*SUBGROUP+SX*SY*SUBGROUP > SX*RN*MN*TK/4
    if (itemB$n < $(SX*RN*MN*TK/4)u) {
    //#else
    {
    //#endif
      // Beyond the last term A is 0, and B some element of the same row (nt) or column (nn).
      //#if FULL
      putB(placeB$n, valueB$n);
      //#else
      putB(placeB$n, weight(valueB$n));
      //#endif
    }
    //#endfor
    workgroupBarrier();
    // The next slab is on its way while matrices are multiplied; the last one comes twice.
    let next = min(k + $(TK)u, (params.depth - 1u) / $(TK)u * $(TK)u);
    //#include gemm_matrix_load AT="next"
    for (var t = 0u; t < $(TK)u; t += $(MK)u) {
      //#for m 0 RM
      let left$m = subgroupMatrixLoad<Left, row_major>(&tileA, (ownRow + $(m*MM)u) * strideTile + t, strideTile);
      //#if PAIR
      let leftLow$m = subgroupMatrixLoad<Left, row_major>(&tileALow, (ownRow + $(m*MM)u) * strideTile + t, strideTile);
      //#endif
      //#endfor
      //#for n 0 RN
      let right$n = subgroupMatrixLoad<Right, col_major>(&tileB, (ownColumn + $(n*MN)u) * strideTile + t, strideTile);
      //#if PAIR
      let rightLow$n = subgroupMatrixLoad<Right, col_major>(&tileBLow, (ownColumn + $(n*MN)u) * strideTile + t, strideTile);
      //#endif
      //#endfor
      //#for m 0 RM
      //#for n 0 RN
      sums$(m*RN+n) = subgroupMatrixMultiplyAccumulate(left$m, right$n, sums$(m*RN+n));
      //#if PAIR
      lowSums$(m*RN+n) = subgroupMatrixMultiplyAccumulate(left$m, rightLow$n, lowSums$(m*RN+n));
      lowSums$(m*RN+n) = subgroupMatrixMultiplyAccumulate(leftLow$m, right$n, lowSums$(m*RN+n));
      //#endif
      //#endfor
      //#endfor
    }
    workgroupBarrier();
  }
  //#endlet
  //#endlet

  // Each subgroup lays its matrices out in memory one after the other, and its lanes write their vectors.
  let own = place * $(MM*MN)u;
  //#for m 0 RM
  //#for n 0 RN
  //#for part 0 PAIR+1
  //#if part == 0
  subgroupMatrixStore<row_major>(&results, own, sums$(m*RN+n), $(MN)u);
  //#else
  subgroupMatrixStore<row_major>(&results, own, lowSums$(m*RN+n), $(MN)u);
  //#endif
  workgroupBarrier();
  //#if part == 0
  //#for i 0 WRITES
  let high$(m)_$(n)_$i = resultAt(own + 4u * min(invocation + $(i)u * subgroupSize, $(MM*MN/4-1)u));
  //#endfor
  //#else
  //#for i 0 WRITES
  let low$(m)_$(n)_$i = resultAt(own + 4u * min(invocation + $(i)u * subgroupSize, $(MM*MN/4-1)u));
  //#endfor
  //#endif
  workgroupBarrier();
  //#endfor
  //#for i 0 WRITES
  {
    let vector = invocation + $(i)u * subgroupSize;
    let row = firstRow + ownRow + $(m*MM)u + vector / $(MN/4)u;
    let column = firstColumn + ownColumn + $(n*MN)u + vector % $(MN/4)u * 4u;
    if (subgroup < $(SX*SY)u && vector < $(MM*MN/4)u) {
      //#if FULL
      var value = high$(m)_$(n)_$i;
      //#else
      // The reciprocal of a power of two, exactly.
      let unscale = bitcast<f32>((254u << 23u) - bitcast<u32>(scaleOf(min(row, lastRow), firstRow))) / weightScale;
      //#if PAIR
      var value = fma(low$(m)_$(n)_$i, vec4<f32>(1.0 / 1024.0), high$(m)_$(n)_$i) * unscale;
      //#else
      var value = high$(m)_$(n)_$i * unscale;
      //#endif
      //#endif
      //#if ACCUMULATE
      if (row < params.rows && column < params.columns) {
        value += load_c(params.firstC / 4u + row * strideC + column / 4u);
      }
      //#endif
      //#if ADAPTED
      let row0 = row;
      var value0 = value;
      //#include gemm_further ROWS=1 BEFORE="value" AFTER="" COLUMN="column"
      value = value0;
      //#endif
      //#include gemm_write_vector SUM="value" ROW="row" COLUMN="column"
    }
  }
  //#endfor
  //#endfor
  //#endfor
}
