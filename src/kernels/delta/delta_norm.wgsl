// Queries and keys of unit length, in the places of those that the convolution gave, each head by itself:
//
//   x = x * rstd * scale, rstd = 1 / sqrt(sum(x^2) + 1e-6); of queries scale is 1 / sqrt(D), of keys 1
//
// BACKWARD: with g the sum of the gradients of the value heads that share a head, in ascending order,
//
//   dx = rstd * scale * (g - x * sum(g * x) / scale^2)
//
// $LANES lanes share a head: lane l sums vectors l, l + LANES, … in ascending order, then the lanes' sums are folded in a
// fixed tree. The order depends on the device's LANES alone, not on the number of rows.

struct Params {
  tokens: u32,
  heads: u32,     // query heads, and as many key heads
  sharing: u32,   // value heads to each of them
  vectors: u32,   // of a head, D / 4
  width: u32,     // vectors of a row of x: query heads, key heads, values
}

@group(0) @binding(0) var<uniform> params: Params;
//#if BACKWARD
//#include stored_vectors NAME="x" BINDING=1 STORAGE="f32"
@group(0) @binding(2) var<storage, read> rstd: array<f32>;
// Those of queries [T, Vh, D], then those of keys, and others.
//#include stored_vectors NAME="dHeads" BINDING=3 STORAGE="f32"
//#include written_vectors NAME="dx" BINDING=4
//#else
//#include written_vectors NAME="x" BINDING=1
@group(0) @binding(2) var<storage, read_write> rstd: array<f32>;
//#endif

//#if LANES > 1
var<workgroup> partial: array<f32, $LANES>;
//#endif

@compute @workgroup_size($WORKGROUP)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) local: u32,
) {
  //#if LANES > 1
  let row = group.y * groups.x + group.x;
  let lane = local;
  //#else
  let row = (group.y * groups.x + group.x) * $(WORKGROUP)u + local;
  let lane = 0u;
  //#endif
  if (row >= params.tokens * params.heads * 2u) { return; }
  let token = row / (params.heads * 2u);
  let head = row % (params.heads * 2u);
  let vectors = params.vectors;
  let isQuery = head < params.heads;
  let start = token * params.width + head * vectors;
  let scale = select(1.0, inverseSqrt(f32(vectors * 4u)), isQuery);
  var sums = vec4<f32>(0.0);
  //#if BACKWARD
  let first = (select(params.tokens, 0u, isQuery) + token) * params.heads + head % params.heads;
  for (var i = lane; i < vectors; i += $(LANES)u) {
    var g = vec4<f32>(0.0);
    for (var one = 0u; one < params.sharing; one++) {
      g += load_dHeads((first * params.sharing + one) * vectors + i);
    }
    store_dx(start + i, g);
    sums = fma(g, load_x(start + i), sums);
  }
  //#else
  for (var i = lane; i < vectors; i += $(LANES)u) {
    let value = load_x(start + i);
    sums = fma(value, value, sums);
  }
  //#endif
  var total = (sums.x + sums.y) + (sums.z + sums.w);
  //#if LANES > 1
  partial[local] = total;
  workgroupBarrier();
  for (var half = $(LANES/2)u; half > 0u; half /= 2u) {
    if (local < half) { partial[local] += partial[local + half]; }
    workgroupBarrier();
  }
  total = partial[0];
  //#endif
  //#if BACKWARD
  let factor = rstd[row] * scale;
  let slope = total * select(1.0, f32(vectors * 4u), isQuery);
  for (var i = lane; i < vectors; i += $(LANES)u) {
    store_dx(start + i, factor * fma(load_x(start + i), vec4<f32>(-slope), load_dx(start + i)));
  }
  //#else
  let own = inverseSqrt(total + 1e-6);
  if (lane == 0u) { rstd[row] = own; }
  let factor = own * scale;
  for (var i = lane; i < vectors; i += $(LANES)u) {
    store_x(start + i, load_x(start + i) * factor);
  }
  //#endif
}
