  //#for i 0 PI
  let p$i = scores[b][$i][$N][py];
  //#endfor
  //#for j 0 4
  let row$j = stage[b * $(BLOCK)u + $N * 4 + $j][dx];
  //#endfor
  //#for j 0 4
  //#for i 0 PI
  $SUM$i = fma(vec4<f32>(p$i[$j]), row$j, $SUM$i);
  //#endfor
  //#endfor
