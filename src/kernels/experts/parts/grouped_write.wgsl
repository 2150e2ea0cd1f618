    // Writes `value`, the sums of four columns from $COLUMN on, to row $PLACE. GATED: they are two of the gate and two of the
    // up projection. SCALE: the product is multiplied.
    //#if GATED
    let gate = value.xy;
    let up = value.zw;
    store_c(($PLACE) * (params.columns / 4u) + $COLUMN / 4u, gate * slope(gate) * up);
    //#if KEPT
    let at = ($PLACE) * (params.columns / 2u) + $COLUMN / 4u;
    store_gateUp(at, gate);
    store_gateUp(at + params.columns / 4u, up);
    //#endif
    //#else
    //#if SCALE
    store_c((($PLACE) * params.strideC + params.firstC + $COLUMN) / 4u, value * params.scale);
    //#else
    store_c((($PLACE) * params.strideC + params.firstC + $COLUMN) / 4u, value);
    //#endif
    //#endif
