  // This lane's FROM0_0, FROM0_1, … into `scores`.
  //#for i 0 SI
  {
    let row = ly + $(i*LY)u;
    scores[lx / 4u][row / $(PY)u][lx % 4u][row % $(PY)u] = vec4<f32>($(FROM)$(i)_0, $(FROM)$(i)_1, $(FROM)$(i)_2, $(FROM)$(i)_3);
  }
  //#endfor
