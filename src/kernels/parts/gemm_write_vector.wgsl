  // Writes the sums $SUM of four columns from $COLUMN on in row $ROW. A last partial vector's padding columns
  // receive copies of what the clamped loads gave.
  if ($ROW < params.rows && $COLUMN < params.columns) {
    let at = params.firstC / 4u + ($ROW) * strideC + $COLUMN / 4u;
    //#if SCALE
    $SUM *= params.scale;
    //#endif
    //#if BIAS
    $SUM += bias[$COLUMN / 4u];
    //#endif
    //#if RESIDUAL
    $SUM += residual[at];
    //#endif
    c[at] = $SUM;
  }
