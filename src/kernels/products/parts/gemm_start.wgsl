  // Starts the sums sum0, sum1, … of a lane, which gemm_write ends.
  //#if ACCUMULATE
  let lastVectorC = (params.firstC + params.columns + 3u) / 4u - 1u;
  //#endif
  //#for r 0 ROWS
  //#include gemm_start_vector SUM="sum"+r ROW="row+"+r+"u" COLUMN="column"
  //#endfor
