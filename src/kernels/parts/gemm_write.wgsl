  // Writes what a lane has summed in sum0, sum1, …: the vectors that begin at `column` of the rows from `row` on, $ROWS
  // of them. A last partial vector's padding columns receive copies of what the clamped loads gave.
  if (column < params.columns) {
    //#if BIAS
    let add = bias[column / 4u];
    //#endif
    //#for r 0 ROWS
    if (row + $(r)u < params.rows) {
      let at$r = params.firstC / 4u + (row + $(r)u) * strideC + column / 4u;
      //#if SCALE
      sum$r *= params.scale;
      //#endif
      //#if BIAS
      sum$r += add;
      //#endif
      //#if RESIDUAL
      sum$r += residual[at$r];
      //#endif
      c[at$r] = sum$r;
    }
    //#endfor
  }
