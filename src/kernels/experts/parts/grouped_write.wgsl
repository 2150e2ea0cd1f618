    // Writes `value`, the sums of four columns, to row $PLACE. GATED: they are two of the gate and two of the up projection.
    //#if GATED
    let gate = value.xy;
    let up = value.zw;
    store_c(($PLACE) * (params.columns / 4u) + column / 4u, gate * slope(gate) * up);
    //#if KEPT
    let at = ($PLACE) * (params.columns / 2u) + column / 4u;
    store_gateUp(at, gate);
    store_gateUp(at + params.columns / 4u, up);
    //#endif
    //#else
    store_c(($PLACE) * (params.columns / 4u) + column / 4u, value);
    //#endif
