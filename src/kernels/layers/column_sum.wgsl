// target[j] += sum_t dy[t, j]                        the gradient of a bias
// target[j] += sum_t dy[t, j] * x[t, j] * rstd[t]    the gradient of an RMSNorm weight (NORM)
//
// A lane owns four columns and adds the rows in ascending order to what the target holds, so that a
// batch cut in micro-batches gives the same bits. Eight rows are loaded ahead of their eight additions.

//#include column_sum_bindings

@compute @workgroup_size(8)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  let vectors = params.columns / 4u;
  let column = id.x;
  if (column >= vectors) { return; }
  var sum = target_sum[column];
  let whole = params.rows & ~7u;
  for (var t = 0u; t < whole; t += 8u) {
    let at = t * vectors + column;
    //#for i 0 8
    let d$i = load_dy(at + $(i)u * vectors);
    //#if NORM
    let n$i = load_x(at + $(i)u * vectors) * rstd[t + $(i)u];
    //#endif
    //#endfor
    //#for i 0 8
    //#if NORM
    sum = fma(d$i, n$i, sum);
    //#else
    sum += d$i;
    //#endif
    //#endfor
  }
  for (var t = whole; t < params.rows; t++) {
    //#if NORM
    sum = fma(load_dy(t * vectors + column), load_x(t * vectors + column) * rstd[t], sum);
    //#else
    sum += load_dy(t * vectors + column);
    //#endif
  }
  target_sum[column] = sum;
}
