  // Starts the sums sum0, sum1, … of a lane, which gemm_write ends.
  //#if ACCUMULATE
  let lastVectorC = (params.firstC + params.columns + 3u) / 4u - 1u;
  //#endif
  //#for r 0 ROWS
  //#if ACCUMULATE
  var sum$r = c[min(row + $(r)u, lastRow) * strideC + min((params.firstC + column) / 4u, lastVectorC)];
  //#else
  var sum$r = vec4<f32>(0.0);
  //#endif
  //#endfor
