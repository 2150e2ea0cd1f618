// The products of grouped_product.wgsl for hardware GPUs and many rows, with the same bindings, layouts and bits.
//
// A workgroup of $LX by $LY lanes makes a tile of $(LY*RM) rows of one expert by $(LX*RN) columns; a lane makes $RM by $RN
// elements. Slabs of A and B, $TK terms deep, pass through workgroup memory and lie there as gemm_tiled.wgsl has them. A
// lane copies $(LY*RM*TK/4/(LX*LY)) vectors of A and $(LX*RN*TK/4/(LX*LY)) of B of each slab, whole numbers.

//#include grouped_bindings

var<workgroup> tileA: array<array<vec4<f32>, $(LY*RM+(8-LY*RM%8)%8+32/TK)>, $(TK/4)>;
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
  let found = placesOfTile(params.firstTile + group.y);
  let expert = found.x;
  let place = found.y;
  let end = found.z;
  if (expert == params.experts) { return; }
  let firstColumn = group.x * $(LX*RN)u;
  let lx = lane % $(LX)u;
  let ly = lane / $(LX)u;
  let vectors = params.depth / 4u;
  //#for q 0 RN/4
  let column$q = firstColumn + ($(q*LX)u + lx) * 4u;
  //#endfor
  //#for r 0 RM
  let row$r = place + $(r*LY)u + ly;
  //#for q 0 RN/4
  //#if ACCUMULATE
  var sum$(r)_$(q) = load_c(
    (min(row$r, end - 1u) * params.strideC + params.firstC + min(column$q, params.columns - 4u)) / 4u);
  //#else
  var sum$(r)_$(q) = vec4<f32>(0.0);
  //#endif
  //#endfor
  //#endfor

  // What this lane copies of every slab.
  let slice = lane % $(TK/4)u;
  let rowOfSlab = lane / $(TK/4)u;
  //#for n 0 LY*RM*TK/4/(LX*LY)
  let startA$n =
    (rowOfA(min(place + rowOfSlab + $(n*LX*LY*4/TK)u, end - 1u)) * params.strideA + params.firstA) / 4u;
  //#endfor
  //#if LAYOUT == 0
  let strideB = vectors;
  let matrix = expert * params.matrixRows;
  //#for n 0 LX*RN*TK/4/(LX*LY)
  let startB$n = (matrix + rowOfB(firstColumn + rowOfSlab + $(n*LX*LY*4/TK)u)) * strideB;
  //#endfor
  //#else
  let strideB = params.columns / 4u;
  let matrix = expert * params.matrixRows + params.firstB;
  let lastDepth = params.depth - 1u;
  let vectorB = lane % $(LX*RN/4)u;
  let termB = lane / $(LX*RN/4)u;
  let placeB = min(firstColumn / 4u + vectorB, strideB - 1u);
  //#endif

  for (var k = 0u; k < params.depth; k += $(TK)u) {
    // Terms beyond the depth are 0 in A, and anything finite in B.
    {
      let index = k / 4u + slice;
      let at = min(index, vectors - 1u);
      //#for n 0 LY*RM*TK/4/(LX*LY)
      tileA[slice][rowOfSlab + $(n*LX*LY*4/TK)u] =
        select(vec4<f32>(0.0), load_a(startA$n + at), index < vectors);
      //#endfor
      //#if LAYOUT == 0
      //#for n 0 LX*RN*TK/4/(LX*LY)
      {
        let column = rowOfSlab + $(n*LX*LY*4/TK)u;
        tileB[slice][column % 4u * $(LX*RN/4+1)u + column / 4u] = load_b(startB$n + at);
      }
      //#endfor
      //#else
      //#for n 0 LX*RN*TK/4/(LX*LY)
      {
        let term = termB + $(n*LX*LY/(LX*RN/4))u;
        tileB[term][vectorB] = load_b((matrix + min(k + term, lastDepth)) * strideB + placeB);
      }
      //#endfor
      //#endif
    }
    workgroupBarrier();
    //#for s 0 TK/4
    //#for r 0 RM
    let x$(s)_$(r) = tileA[$(s)u][$(r*LY)u + ly];
    //#endfor
    //#if LAYOUT == 0
    //#for q 0 RN/4
    //#for e 0 4
    let b$(s)_$(q)_$(e) = tileB[$(s)u][$(e*(LX*RN/4+1)+q*LX)u + lx];
    //#endfor
    //#endfor
    //#endif
    //#for t 0 4
    //#for q 0 RN/4
    //#if LAYOUT == 0
    let w$(s)_$(t)_$(q) = vec4<f32>(b$(s)_$(q)_0[$t], b$(s)_$(q)_1[$t], b$(s)_$(q)_2[$t], b$(s)_$(q)_3[$t]);
    //#else
    let w$(s)_$(t)_$(q) = tileB[$(s*4+t)u][$(q*LX)u + lx];
    //#endif
    //#for r 0 RM
    sum$(r)_$(q) = fma(vec4<f32>(x$(s)_$(r)[$t]), w$(s)_$(t)_$(q), sum$(r)_$(q));
    //#endfor
    //#endfor
    //#endfor
    //#endfor
    workgroupBarrier();
  }

  //#if ADAPTED
  //#for r 0 RM
  let inner$r = min(row$r, end - 1u) * (params.innerParts * params.rank / 4u);
  //#endfor
  //#for q 0 RN/4
  //#include grouped_further ROWS=RM BEFORE="sum" AFTER="_"+q COLUMN="column"+q
  //#endfor
  //#endif
  //#for r 0 RM
  //#for q 0 RN/4
  if (row$r < end && column$q < params.columns) {
    let value = sum$(r)_$(q);
    //#include grouped_write PLACE="row"+r COLUMN="column"+q
  }
  //#endfor
  //#endfor
}
