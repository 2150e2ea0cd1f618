  // Writes the sums $SUM of four columns from $COLUMN on in row $ROW. A last partial vector's padding columns
  // receive copies of what the clamped loads gave. GATED: they are two of the gate and two of the up projection.
  if ($ROW < params.rows && $COLUMN < params.columns) {
    //#if GATED
    let gate = $SUM.xy;
    let up = $SUM.zw;
    store_c(($ROW) * strideC * 2u + $COLUMN / 4u, gate * slope(gate) * up);
    //#if KEPT
    let at = ($ROW) * (params.columns / 2u) + $COLUMN / 4u;
    store_gateUp(at, gate);
    store_gateUp(at + params.columns / 4u, up);
    //#endif
    //#else
    //#if !ADAPTED
    //#include gemm_finish_vector
    //#endif
    store_c(params.firstC / 4u + ($ROW) * strideC + $COLUMN / 4u, $SUM);
    //#endif
  }
