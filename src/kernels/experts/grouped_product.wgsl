// Products of rows with the matrices of their experts, rows of one expert lying together (group_pairs.wgsl):
//
//   LAYOUT 0  nt   C[p, j] = sum_k A[p, k] * B[e, j, k]   forward:         A = x,   B = W [E, O, I]
//   LAYOUT 1  nn   C[p, j] = sum_k A[p, k] * B[e, k, j]   input gradient:  A = dy,  B = W [E, O, I]
//
// p a place, e its expert. PICKED: A has a row for each token, and place p takes that of its token. GATED (nt): B's rows
// are a gate's, then those of what it lets through, C = act(gate) * up has half as many columns, and KEPT gateUp receives
// both.
//
// Every element is summed over k in ascending order with one fma per term, as in gemm.wgsl: a row has the same bits
// whichever other rows its expert has.
//
// A workgroup of $LANES lanes makes a tile of at most $ROWS rows of one expert by LANES * 4 columns; it finds its expert
// from the offsets, and there may be more workgroups than tiles. Each lane sums four columns of all rows, as in gemm.wgsl:
// no subgroup operations, no workgroup memory. Rows and columns of A, B and C are multiples of 4. LOOPED, for a CPU's lanes,
// lets the sums lie in memory, as gemm.wgsl says; a GPU's have them in registers.

struct Params {
  experts: u32,
  firstTile: u32,  // of this launch
  tileRows: u32,   // rows of a workgroup's tile
  columns: u32,    // of C, or of gate and up
  depth: u32,      // terms of each sum
  chosen: u32,     // pairs of a token
}

@group(0) @binding(0) var<uniform> params: Params;
//#include stored_vectors NAME="a" BINDING=1 STORAGE="f32"
//#include stored_vectors NAME="b" BINDING=2
//#if GATED
//#include written_pairs NAME="c" BINDING=3
//#if KEPT
//#include written_pairs NAME="gateUp" BINDING=4
//#endif
//#else
//#include written_vectors NAME="c" BINDING=3
//#endif
@group(0) @binding(5) var<storage, read> offsets: array<u32>;
//#if PICKED
@group(0) @binding(6) var<storage, read> list: array<u32>;
//#endif
//#if GATED

//#include silu VECTOR="vec2<f32>"
//#endif

// Which row of an expert's matrix (nt) makes a column, as in gemm.wgsl.
fn rowOfB(column: u32) -> u32 {
  //#if GATED
  let half = params.columns / 2u;
  return min(column / 4u * 2u + column % 2u, half - 1u) + select(0u, half, column % 4u >= 2u);
  //#else
  return min(column, params.columns - 1u);
  //#endif
}

@compute @workgroup_size($LANES)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(local_invocation_id) local: vec3<u32>,
) {
  //#if LAYOUT == 0
  let column = (group.x * $(LANES)u + local.x) * 4u;
  var tile = params.firstTile + group.y;
  //#else
  let column = (group.y * $(LANES)u + local.x) * 4u;
  var tile = params.firstTile + group.x;
  //#endif
  var expert = 0u;
  var first = 0u;
  var end = 0u;
  for (; expert < params.experts; expert++) {
    first = offsets[expert];
    end = offsets[expert + 1u];
    let tiles = (end - first + $(ROWS-1)u) / $(ROWS)u;
    if (tile < tiles) { break; }
    tile -= tiles;
  }
  if (expert == params.experts) { return; }
  let place = first + tile * $(ROWS)u;
  let rows = min(params.tileRows, end - place);
  let strideA = params.depth / 4u;
  //#for r 0 ROWS
  let place$r = min(place + $(r)u, end - 1u);
  //#if PICKED
  let rowA$r = list[place$r] / params.chosen * strideA;
  //#else
  let rowA$r = place$r * strideA;
  //#endif
  //#endfor
  //#if LAYOUT == 0
  let strideB = strideA;
  let matrix = expert * params.columns;
  //#for n 0 4
  let rowB$n = (matrix + rowOfB(column + $(n)u)) * strideB;
  //#endfor
  //#else
  let strideB = params.columns / 4u;
  let matrix = expert * params.depth;
  let columnVector = min(column / 4u, strideB - 1u);
  //#endif
  var sums: array<vec4<f32>, $ROWS>;
  for (var k = 0u; k < strideA; k++) {
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
  if (column >= params.columns) { return; }
  //#if LOOPED
  for (var r = 0u; r < rows; r++) {
    let value = sums[min(r, $(ROWS-1)u)];
    //#include grouped_write PLACE="place+r"
  }
  //#else
  //#for r 0 ROWS
  if ($(r)u < rows) {
    let value = sums[$r];
    //#include grouped_write PLACE="place+"+r+"u"
  }
  //#endfor
  //#endif
}
