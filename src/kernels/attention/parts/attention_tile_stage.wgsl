  // COUNT vectors of FROM go into the rows of `stage` from BASE on, IN of them in a row, each lane's every $LANES-th.
  //#for n 0 STEPS
  //#if n*LANES+LANES > COUNT
  if (lane + $(n*LANES)u < $(COUNT)u)
  //#endif
  {
    let item = lane + $(n*LANES)u;
    //#if FACTOR == ""
    stage[$(BASE)u + item / $(IN)u][item % $(IN)u] = load_$FROM($AT$n + $OFFSET);
    //#else
    stage[$(BASE)u + item / $(IN)u][item % $(IN)u] = load_$FROM($AT$n + $OFFSET) * $FACTOR;
    //#endif
  }
  //#endfor
