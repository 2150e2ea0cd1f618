  // What comes to the sums $SUM of four columns from $COLUMN on in row $ROW.
  //#if BIAS
  $SUM += load_bias($COLUMN / 4u);
  //#endif
  //#if SCALE
  $SUM *= params.scale;
  //#endif
  //#if RESIDUAL
  $SUM += load_residual(params.firstC / 4u + ($ROW) * strideC + $COLUMN / 4u);
  //#endif
