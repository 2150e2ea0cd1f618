  // To SUM0, SUM1, … the walked rows of block `b`, one after the other.
  //#if UNROLL
  //#for n 0 4
  {
    //#include attention_tile_sum_step N=n
  }
  //#endfor
  //#else
  // Four times, as in attention_tile_scores.
  for (var n = 0u; n < 4u * params.chunks / $(D/4)u; n++) {
    let four = min(n, 3u);
    //#include attention_tile_sum_step N="four"
  }
  //#endif
