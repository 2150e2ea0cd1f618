// The gradients of grouped_gradient.wgsl for hardware GPUs, with the same bindings and bits.
//
// A workgroup of $LX by $LY lanes makes a tile of $(LY*RM) rows by $(LX*RN) columns of one expert's matrix; a lane makes $RM
// by $RN elements, both multiples of 4. Slabs of $TK places pass through workgroup memory. A lane copies
// $(LY*RM*TK/4/(LX*LY)) vectors of A and $(LX*RN*TK/4/(LX*LY)) of B of each slab, whole numbers.

//#include grouped_gradient_bindings

var<workgroup> tileA: array<array<vec4<f32>, $(LY*RM/4)>, $TK>;
var<workgroup> tileB: array<array<vec4<f32>, $(LX*RN/4)>, $TK>;

@compute @workgroup_size($(LX*LY))
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  let expert = params.firstExpert + group.z;
  let first = offsets[expert];
  let end = offsets[expert + 1u];
  if (first == end) { return; }
  let firstRow = group.x * $(LY*RM)u;
  let firstColumn = group.y * $(LX*RN)u;
  let lx = lane % $(LX)u;
  let ly = lane / $(LX)u;
  let strideA = params.strideA / 4u;
  let strideB = params.strideB / 4u;
  let strideC = params.columns / 4u;
  let matrix = expert * params.matrixRows + params.firstC;
  //#for q 0 RN/4
  let column$q = firstColumn + ($(q*LX)u + lx) * 4u;
  let vector$q = min(column$q / 4u, strideC - 1u);
  //#endfor
  //#for r 0 RM
  let row$r = firstRow + ($((r-r%4)/4*LY)u + ly) * 4u + $(r%4)u;
  let start$r = (matrix + min(row$r, params.rows - 1u)) * strideC;
  //#for q 0 RN/4
  var sum$(r)_$(q) = load_c(start$r + vector$q);
  //#endfor
  //#endfor
  let vectorA = lane % $(LY*RM/4)u;
  let termA = lane / $(LY*RM/4)u;
  let placeA = params.firstA / 4u + min(firstRow / 4u + vectorA, params.rows / 4u - 1u);
  let vectorB = lane % $(LX*RN/4)u;
  let termB = lane / $(LX*RN/4)u;
  let placeB = params.firstB / 4u + min(firstColumn / 4u + vectorB, strideC - 1u);
  for (var place = first; place < end; place += $(TK)u) {
    // Places beyond the last are 0 in A, and anything finite in B.
    //#for n 0 LY*RM*TK/4/(LX*LY)
    {
      let term = termA + $(n*LX*LY/(LY*RM/4))u;
      let value = load_a(rowOfA(min(place + term, end - 1u)) * strideA + placeA);
      tileA[term][vectorA] = select(vec4<f32>(0.0), value, place + term < end);
    }
    //#endfor
    //#for n 0 LX*RN*TK/4/(LX*LY)
    {
      let term = termB + $(n*LX*LY/(LX*RN/4))u;
      tileB[term][vectorB] = load_b(rowOfB(min(place + term, end - 1u)) * strideB + placeB);
    }
    //#endfor
    workgroupBarrier();
    //#for t 0 TK
    //#for g 0 RM/4
    let x$(t)_$(g) = tileA[$(t)u][$(g*LY)u + ly];
    //#endfor
    //#for q 0 RN/4
    let w$(t)_$(q) = tileB[$(t)u][$(q*LX)u + lx];
    //#for r 0 RM
    sum$(r)_$(q) = fma(vec4<f32>(x$(t)_$((r-r%4)/4)[$(r%4)]), w$(t)_$(q), sum$(r)_$(q));
    //#endfor
    //#endfor
    //#endfor
    workgroupBarrier();
  }
  //#for r 0 RM
  //#for q 0 RN/4
  if (row$r < params.rows && column$q < params.columns) {
    store_c(start$r + vector$q, sum$(r)_$(q));
  }
  //#endfor
  //#endfor
}
