// The query gradient of attention.wgsl, and delta[t, h] = sum_d dO[t, h, d] * O[t, h, d]:
//
//   p_j = exp(scale * q . k_j - logSumExp),  dS_j = p_j * (dO . v_j - delta),  dQ = scale * sum_j dS_j * k_j
//
// and where scores are capped (CAP) that times 1 - (score / cap)^2,
//
// keys j in ascending order from the sequence's first. Lanes, walks and segments as in attention.wgsl; where heads are
// small all lanes load the same keys (UNIFORM), for two heads each, and broadcast none.
// (FlashAttention-2, Dao 2023, with the probabilities recomputed from the saved log-sum-exp.)

//#include attention_backward_bindings OF="queries"
//#include attention_key_row

//#include counted OF=D/4

@compute @workgroup_size($LANES)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  //#include attention_broadcast_lane TOKENS=LANES
  //#include attention_query_heads
  let own = segments[min(token, last)];
  let position = own.w + token - own.x;
  //#include attention_window
  let units = params.heads + 2u * params.kvHeads;
  //#for h 0 HEADS
  var q$h: array<vec4<f32>, $(D/4)>;
  var dO$h: array<vec4<f32>, $(D/4)>;
  var dQ$h: array<vec4<f32>, $(D/4)>;
  var products$h = vec4<f32>(0.0);
  for (var c = 0u; c < chunks; c++) {
    q$h[entry(c)] = load_queries(at$h + c) * params.scaleLog2e;
    dO$h[entry(c)] = load_outputGradient(at$h + c);
    products$h = fma(dO$h[entry(c)], output[at$h + c], products$h);
  }
  let ownDelta$h = (products$h.x + products$h.y) + (products$h.z + products$h.w);
  let log2Sum$h = statistics[query$h] * 1.4426950408889634;
  //#endfor

  var end = last;
  loop {
    let segment = segments[end];
    let start = min(segment.x, end);
    let prefix = segment.w;
    let lastKey = prefix + (end - start);
    //#for h 0 HEADS
    for (var c = 0u; c < chunks; c++) { dQ$h[entry(c)] = vec4<f32>(0.0); }
    //#endfor

    //#include attention_window_start
    for (var block = begin; block <= lastKey; block += $(BLOCK)u) {
      //#for g 0 LOADS
      //#include attention_walked G=g
      let row$g = rowOfKey(segment, start, min(walked$g, lastKey)) * stride + kvAt;
      //#endfor
      //#for h 0 HEADS
      //#for j 0 BLOCK
      var s$(h)_$j = 0.0;
      var t$(h)_$j = 0.0;
      //#endfor
      //#endfor
      for (var c = 0u; c < chunks; c++) {
        //#for h 0 HEADS
        let x$h = q$h[entry(c)];
        let y$h = dO$h[entry(c)];
        //#endfor
        //#if !UNIFORM
        //#for g 0 LOADS
        let k$g = load_keys(row$g + c);
        let v$g = load_values(row$g + c);
        //#endfor
        //#endif
        //#for j 0 BLOCK
        //#include attention_walked_row J=j NAME="key" FROM="keys" HELD="k"
        //#include attention_walked_row J=j NAME="value" FROM="values" HELD="v"
        //#for h 0 HEADS
        //#for n 0 4
        s$(h)_$j = fma(x$h[$n], key$j[$n], s$(h)_$j);
        t$(h)_$j = fma(y$h[$n], value$j[$n], t$(h)_$j);
        //#endfor
        //#endfor
        //#endfor
      }
      //#for j 0 BLOCK
      //#if WINDOW
      let seen$j = (block + $(j)u <= position) & (block + $(j)u >= firstKey);
      //#else
      let seen$j = block + $(j)u <= position;
      //#endif
      //#endfor
      //#for h 0 HEADS
      //#for j 0 BLOCK
      //#if CAP
      let capped$(h)_$j = capped(s$(h)_$j, params.cap, params.inverseCap);
      let slope$(h)_$j = exp2(capped$(h)_$j - log2Sum$h) * capSlope(capped$(h)_$j, params.inverseCap);
      let dS$(h)_$j = select(0.0, slope$(h)_$j * (t$(h)_$j - ownDelta$h), seen$j);
      //#else
      let dS$(h)_$j = select(0.0, exp2(s$(h)_$j - log2Sum$h) * (t$(h)_$j - ownDelta$h), seen$j);
      //#endif
      //#endfor
      //#endfor
      for (var c = 0u; c < chunks; c++) {
        //#if !UNIFORM
        //#for g 0 LOADS
        let k$g = load_keys(row$g + c);
        //#endfor
        //#endif
        //#for h 0 HEADS
        var sum$h = dQ$h[entry(c)];
        //#endfor
        //#for j 0 BLOCK
        //#include attention_walked_row J=j NAME="key" FROM="keys" HELD="k"
        //#for h 0 HEADS
        sum$h = fma(vec4<f32>(dS$(h)_$j), key$j, sum$h);
        //#endfor
        //#endfor
        //#for h 0 HEADS
        dQ$h[entry(c)] = sum$h;
        //#endfor
      }
    }

    if (own.x == start && token <= last) {
      //#for h 0 HEADS
      if (member + $(h)u < headsOfKey) {
        let to$h = (token * units + group.y * headsOfKey + member + $(h)u) * chunks;
        for (var c = 0u; c < chunks; c++) { dQkv[to$h + c] = dQ$h[entry(c)] * params.scale; }
        statistics[params.tokens * params.heads + query$h] = ownDelta$h;
      }
      //#endfor
    }
    if (start <= first) { break; }
    end = start - 1u;
  }
}
