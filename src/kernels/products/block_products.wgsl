// Sums over tokens, of a gradient (A) by what its weights were multiplied with (B), for each block of tokens by itself:
// sums[n] [rows, columns] = the sum over the tokens t of block n of A[t]ᵀ·B[t], each element one ascending chain of fma.
// block_sums.wgsl adds the blocks. Made for an adapter's gradients, which are narrow: one chain over all tokens leaves
// most of a GPU idle.
//
// A workgroup of $LX by $LY lanes makes 4·$LY rows by 4·$LX columns of a block, a lane 4 by 4; slabs of $TK tokens pass
// through workgroup memory. Workgroups: columns, rows, blocks.

struct Params {
  rows: u32,
  columns: u32,   // a multiple of 4
  strideA: u32,   // elements from one token to the next
  strideB: u32,
  firstA: u32,    // where in a token of A the rows begin, a multiple of 4
  firstB: u32,    // where in a token of B the columns begin, a multiple of 4
  firstBlock: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
//#include stored_vectors NAME="a" BINDING=1 STORAGE="f32"
//#include stored_vectors NAME="b" BINDING=2 STORAGE="f32"
// The first token and how many.
@group(0) @binding(3) var<storage, read> blocks: array<vec2<u32>>;
//#include written_vectors NAME="sums" BINDING=4

var<workgroup> tileA: array<array<vec4<f32>, $LY>, $TK>;
var<workgroup> tileB: array<array<vec4<f32>, $LX>, $TK>;

@compute @workgroup_size($(LX*LY))
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  let block = blocks[params.firstBlock + group.z];
  let strideA = params.strideA / 4u;
  let strideB = params.strideB / 4u;
  let lx = lane % $(LX)u;
  let ly = lane / $(LX)u;
  let vectorA = group.y * $(LY)u + lane % $(LY)u;
  let vectorB = group.x * $(LX)u + lane % $(LX)u;
  let placeA = min(params.firstA / 4u + vectorA, strideA - 1u);
  let placeB = min(params.firstB / 4u + vectorB, strideB - 1u);
  //#for r 0 4
  var sum$r = vec4<f32>(0.0);
  //#endfor
  for (var k = 0u; k < block.y; k += $(TK)u) {
    // Tokens behind the block's last are 0 in A, and some token of it in B.
    //#for n 0 TK/LX
    {
      let token = lane / $(LY)u + $(n*LX)u;
      let value = load_a((block.x + min(k + token, block.y - 1u)) * strideA + placeA);
      tileA[token][lane % $(LY)u] = select(vec4<f32>(0.0), value, k + token < block.y);
    }
    //#endfor
    //#for n 0 TK/LY
    {
      let token = lane / $(LX)u + $(n*LY)u;
      tileB[token][lane % $(LX)u] = load_b((block.x + min(k + token, block.y - 1u)) * strideB + placeB);
    }
    //#endfor
    workgroupBarrier();
    //#for t 0 TK
    let a$t = tileA[$(t)u][ly];
    let b$t = tileB[$(t)u][lx];
    //#for r 0 4
    sum$r = fma(vec4<f32>(a$t[$r]), b$t, sum$r);
    //#endfor
    //#endfor
    workgroupBarrier();
  }
  let column = (group.x * $(LX)u + lx) * 4u;
  //#for r 0 4
  {
    let row = (group.y * $(LY)u + ly) * 4u + $(r)u;
    if (row < params.rows && column < params.columns) {
      store_sums(((group.z * params.rows + row) * params.columns + column) / 4u, sum$r);
    }
  }
  //#endfor
}
