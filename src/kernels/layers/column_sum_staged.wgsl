// The sums of column_sum.wgsl for hardware GPUs, with the same bits: each column is one ascending chain over the rows,
// which no second lane can help with. What takes the time is waiting for memory. So all loads of a slab of
// $(64*ROUNDS) rows by 16 columns are under way at once, the next slab's while four lanes add this one's.

//#include column_sum_bindings

var<workgroup> slopes: array<array<array<vec4<f32>, 4>, 16>, $(4*ROUNDS)>;
//#if NORM
var<workgroup> normed: array<array<array<vec4<f32>, 4>, 16>, $(4*ROUNDS)>;
//#endif

// -0 beyond the last row: adding it changes nothing, not even the sign of a zero. Chosen as bits, since Dawn's compiler
// takes a constant -0 for 0.
fn slope(row: u32, column: u32) -> vec4<f32> {
  let value = bitcast<vec4<u32>>(load_dy(min(row, params.rows - 1u) * (params.columns / 4u) + column));
  return bitcast<vec4<f32>>(select(vec4<u32>(0x80000000u), value, row < params.rows));
}
//#if NORM

fn factor(row: u32, column: u32) -> vec4<f32> {
  let t = min(row, params.rows - 1u);
  return select(vec4<f32>(1.0), load_x(t * (params.columns / 4u) + column) * rstd[t], row < params.rows);
}
//#endif

@compute @workgroup_size(256)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  let vectors = params.columns / 4u;
  let vector = lane % 4u;
  let row = lane / 4u;
  let column = min(group.x * 4u + vector, vectors - 1u);
  var sum = target_sum[column];
  //#for i 0 ROUNDS
  var d$i = slope(row + $(64*i)u, column);
  //#if NORM
  var n$i = factor(row + $(64*i)u, column);
  //#endif
  //#endfor
  for (var t = 0u; t < params.rows; t += $(64*ROUNDS)u) {
    //#for i 0 ROUNDS
    slopes[row / 16u + $(4*i)u][row % 16u][vector] = d$i;
    //#if NORM
    normed[row / 16u + $(4*i)u][row % 16u][vector] = n$i;
    //#endif
    //#endfor
    workgroupBarrier();
    //#for i 0 ROUNDS
    d$i = slope(t + row + $(64*(ROUNDS+i))u, column);
    //#if NORM
    n$i = factor(t + row + $(64*(ROUNDS+i))u, column);
    //#endif
    //#endfor
    if (lane < 4u) {
      let slices = min($(4*ROUNDS)u, (params.rows - t + 15u) / 16u);
      for (var s = 0u; s < slices; s++) {
        //#for r 0 16
        //#if NORM
        sum = fma(slopes[s][$(r)u][lane], normed[s][$(r)u][lane], sum);
        //#else
        sum += slopes[s][$(r)u][lane];
        //#endif
        //#endfor
      }
    }
    workgroupBarrier();
  }
  if (lane < 4u && group.x * 4u + lane < vectors) { target_sum[column] = sum; }
}
