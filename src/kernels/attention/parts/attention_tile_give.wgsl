  // This lane's FROM0_0, FROM0_1, … (times FACTOR) to the rows of TO that are of the segment, head HEAD of HEADS.
  //#for i 0 PI
  {
    let row = first + py + $(i*PY)u;
    if (row >= start && row <= end) {
      let at = (row * $HEADS + $HEAD) * $(D/4)u + dx;
      //#for v 0 V
      //#if FACTOR == ""
      $TO[at + $(v*DX)u] = $(FROM)$(v)_$i;
      //#else
      $TO[at + $(v*DX)u] = $(FROM)$(v)_$i * $FACTOR;
      //#endif
      //#endfor
    }
  }
  //#endfor
