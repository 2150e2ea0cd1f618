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
// A workgroup of $LANES lanes makes a tile of $ROWS rows by LANES * 4 * GROUPS columns. Each lane sums four columns of each
// of $GROUPS groups, in all rows, and loads its own columns of B, four terms at a time; all lanes read the same elements
// of A, which this driver loads once and spreads. No subgroup operations, no workgroup memory.
//
// Workgroups of neighbouring x run one after the other. In nn and tn these share the columns of B, a short piece of
// each of its rows that no processor foresees; in nt they share rows of A.
//
// Loads of B cost this driver as much as four or five rows of products, so that a tall tile pays, and those of a row of A
// almost as much as its products with four columns, so that a second group does. Its sums fit no registers: they are an
// array for each group, which the driver keeps in memory as long as something indexes it by a number it cannot know
// (params.tileRows); as variables it would keep two copies of each.
//
// Row strides are multiples of 4 elements. A's padding beyond the depth (nt, nn) holds zeros, and in nt
// the depth itself is a multiple of 4.

//#include gemm_bindings TILE_ROWS=true HALVES=false

//#if LAYOUT == 2
// Two elements of a vector of A: the first two or the last.
fn pair_a(index: u32, half: u32) -> vec2<f32> {
  //#if WIDE
  let words = a[index][half];
  return bitcast<vec2<f32>>(vec2<u32>(u32(words), u32(words >> 32u)));
  //#else
  let vector = a[index];
  return select(vector.xy, vector.zw, half == 1u);
  //#endif
}
//#endif

@compute @workgroup_size($LANES)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(local_invocation_id) local: vec3<u32>,
) {
  //#if LAYOUT == 0
  let row = group.y * $(ROWS)u;
  //#for q 0 GROUPS
  let column$q = (group.x * $(LANES*GROUPS)u + $(q*LANES)u + local.x) * 4u;
  //#endfor
  //#else
  let row = group.x * $(ROWS)u;
  //#for q 0 GROUPS
  let column$q = (group.y * $(LANES*GROUPS)u + $(q*LANES)u + local.x) * 4u;
  //#endfor
  //#endif
  let tileRows = min(params.tileRows, params.rows - row);
  let lastRow = params.rows - 1u;
  let lastDepth = params.depth - 1u;
  let strideA = params.strideA / 4u;
  let strideB = params.strideB / 4u;
  let strideC = params.strideC / 4u;
  //#for q 0 GROUPS
  var sums$q: array<vec4<f32>, $ROWS>;
  //#endfor
  //#if ACCUMULATE
  let lastVectorC = (params.firstC + params.columns + 3u) / 4u - 1u;
  //#for q 0 GROUPS
  let startColumn$q = min((params.firstC + column$q) / 4u, lastVectorC);
  //#endfor
  for (var r = 0u; r < tileRows; r++) {
    //#for q 0 GROUPS
    sums$q[min(r, $(ROWS-1)u)] = load_c((row + r) * strideC + startColumn$q);
    //#endfor
  }
  //#endif

//#if LAYOUT == 2
  //#for q 0 GROUPS
  let columnVector$q = min((params.firstB + column$q) / 4u, strideB - 1u);
  //#endfor
  //#for g 0 ROWS/4
  let vectorA$g = min((params.firstA + row) / 4u + $(g)u, strideA - 1u);
  //#endfor
  for (var k = 0u; k < params.depth; k += 4u) {
    //#for t 0 4
    let k$t = min(k + $(t)u, lastDepth);
    //#for q 0 GROUPS
    let w$(q)_$t = select(
      vec4<f32>(0.0), load_b(k$t * strideB + columnVector$q), k + $(t)u < params.depth);
    //#endfor
    //#endfor
    //#for g 0 ROWS/4
    //#for h 0 2
    {
      //#for t 0 4
      let x$t = pair_a(k$t * strideA + vectorA$g, $(h)u);
      //#endfor
      //#for j 0 2
      //#for q 0 GROUPS
      {
        var sum = sums$q[$(4*g+2*h+j)];
        //#for t 0 4
        sum = fma(vec4<f32>(x$t[$j]), w$(q)_$t, sum);
        //#endfor
        sums$q[$(4*g+2*h+j)] = sum;
      }
      //#endfor
      //#endfor
    }
    //#endfor
    //#endfor
  }
//#else
  //#for r 0 ROWS
  let rowA$r = min(row + $(r)u, lastRow) * strideA + params.firstA / 4u;
  //#endfor
  //#for q 0 GROUPS
  //#if LAYOUT == 0
  //#for n 0 4
  let rowB$(q)_$n = rowOfB(column$q + $(n)u) * strideB;
  //#endfor
  //#else
  let columnVector$q = min((params.firstB + column$q) / 4u, strideB - 1u);
  //#endif
  //#endfor
  let blocks = (params.depth + 3u) / 4u;
  for (var k = 0u; k < blocks; k++) {
    //#for q 0 GROUPS
    //#if LAYOUT == 0
    //#for n 0 4
    let b$(q)_$n = load_b(rowB$(q)_$n + k);
    //#endfor
    //#for t 0 4
    let w$(q)_$t = vec4<f32>(b$(q)_0[$t], b$(q)_1[$t], b$(q)_2[$t], b$(q)_3[$t]);
    //#endfor
    //#else
    //#for t 0 4
    let w$(q)_$t = load_b(min(k * 4u + $(t)u, lastDepth) * strideB + columnVector$q);
    //#endfor
    //#endif
    //#endfor
    //#for r 0 ROWS
    {
      let x = load_a(rowA$r + k);
      //#for q 0 GROUPS
      {
        var sum = sums$q[$r];
        //#for t 0 4
        sum = fma(vec4<f32>(x[$t]), w$(q)_$t, sum);
        //#endfor
        sums$q[$r] = sum;
      }
      //#endfor
    }
    //#endfor
  }
//#endif

  //#if ADAPTED
  //#for r 0 ROWS
  let row$r = row + $(r)u;
  //#endfor
  //#for q 0 GROUPS
  //#include gemm_further BEFORE="sums"+q+"[" AFTER="]" COLUMN="column"+q
  //#endfor
  //#endif
  for (var r = 0u; r < tileRows; r++) {
    //#for q 0 GROUPS
    {
      var value = sums$q[min(r, $(ROWS-1)u)];
      //#include gemm_write_vector SUM="value" ROW="row+r" COLUMN="column"+q
    }
    //#endfor
  }
}
