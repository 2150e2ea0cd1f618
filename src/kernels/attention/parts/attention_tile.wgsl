// The tile of a workgroup of $LANES lanes: $ROWS neighbouring tokens, which it owns, by $WALK others at a time that it
// walks. A product of owned and walked rows is made in two steps, for each of which a lane has other work:
//
//   scores:  scores[owned, walked] = sum_d owned_d * walked_d, one chain of d ascending. Lane (lx, ly) has the
//            owned rows ly + $LY * i and the walked rows 4 * lx + j. Both come through `stage`, $SLAB vectors at a time.
//   columns: sum[owned] over the walked rows of scores * row, ascending. Lane (dx, py) has the owned rows
//            py + $PY * i and the vectors dx + $DX * v of the head. The walked rows come through `stage`, $DX vectors
//            at a time.
//
// Every read of workgroup memory in an inner loop is of 16 bytes, at a place that is constant but for the last index.
var<workgroup> stage: array<array<vec4<f32>, $WIDTH>, $STAGE>;
// Four walked rows in a vector: block of 16, i, vector of the block, py.
var<workgroup> scores: array<array<array<array<vec4<f32>, $PY>, 4>, $PI>, $(WALK/16)>;
// Where the vectors of the walked rows begin.
var<workgroup> walked: array<u32, $WALK>;
