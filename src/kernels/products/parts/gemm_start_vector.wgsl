  // Starts the sums $SUM of four columns from $COLUMN on in row $ROW, which gemm_write_vector ends.
  //#if ACCUMULATE
  var $SUM = load_c(min($ROW, lastRow) * strideC + min((params.firstC + $COLUMN) / 4u, lastVectorC));
  //#else
  var $SUM = vec4<f32>(0.0);
  //#endif
