  // Writes what a lane has summed in sum0, sum1, …: the vectors that begin at `column` of the rows from `row` on, $ROWS
  // of them.
  //#if ADAPTED
  //#for r 0 ROWS
  let row$r = row + $(r)u;
  //#endfor
  //#include gemm_further BEFORE="sum" AFTER="" COLUMN="column"
  //#endif
  //#for r 0 ROWS
  //#include gemm_write_vector SUM="sum"+r ROW="row+"+r+"u" COLUMN="column"
  //#endfor
