  // The terms of an adapter, with which the sums of $ROWS places and four columns from $COLUMN on go on (nt): they are
  // $(BEFORE)0$AFTER, $(BEFORE)1$AFTER, … of the rows of inner at inner0, inner1, …
  //#if ADAPTED
  {
    let vectors = params.rank / 4u;
    //#for e 0 4
    let further$e = (matrix + rowOfB($COLUMN + $(e)u)) * vectors;
    //#endfor
    //#if GATED
    let up = (params.innerParts - 1u) * vectors;
    //#endif
    for (var k = 0u; k < vectors; k++) {
      //#for e 0 4
      let v$e = load_further(further$e + k);
      //#endfor
      //#for r 0 ROWS
      {
        let x = load_inner(inner$r + k);
        //#if GATED
        let u = load_inner(inner$r + up + k);
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
