  // The terms of an adapter, with which the sums of $ROWS rows and four columns from $COLUMN on go on: they are
  // $(BEFORE)0$AFTER, $(BEFORE)1$AFTER, … of row0, row1, …
  //#if ADAPTED
  //#if SCALE || BIAS || RESIDUAL
  //#for r 0 ROWS
  if (row$r < params.rows && $COLUMN < params.columns) {
    //#include gemm_finish_vector SUM=BEFORE+r+AFTER ROW="row"+r
  }
  //#endfor
  //#endif
  {
    //#for e 0 4
    let terms$e = furtherTerms(rowOfB($COLUMN + $(e)u));
    //#endfor
    //#for r 0 ROWS
    let inner$r = min(row$r, lastRow) * (params.rank / 4u * $(ADAPTED)u);
    //#endfor
    for (var k = 0u; k < terms0.z; k++) {
      //#for e 0 4
      let v$e = load_further(terms$e.y + k);
      //#endfor
      //#for r 0 ROWS
      {
        let x = load_inner(inner$r + terms0.x + k);
        //#if GATED
        let u = load_inner(inner$r + terms2.x + k);
        //#else
        let u = x;
        //#endif
        //#for t 0 4
        $BEFORE$r$AFTER = fma(
          vec4<f32>(x[$t], x[$t], u[$t], u[$t]), vec4<f32>(v0[$t], v1[$t], v2[$t], v3[$t]), $BEFORE$r$AFTER);
        //#endfor
      }
      //#endfor
    }
  }
  //#endif
