  //#for i 0 SI
  let x$i = stage[$(i*SLAB) + $C][ly];
  //#endfor
  //#for j 0 4
  let y$j = stage[$(SI*SLAB+j*SLAB) + $C][lx];
  //#endfor
  //#for e 0 4
  //#for i 0 SI
  //#for j 0 4
  $(TO)$(i)_$j = fma(x$i[$e], y$j[$e], $(TO)$(i)_$j);
  //#endfor
  //#endfor
  //#endfor
