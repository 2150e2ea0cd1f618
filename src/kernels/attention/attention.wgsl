// Causal attention over packed sequences with grouped key/value heads, never a T x T matrix.
//
//   output[t, h] = sum_j softmax_j(scale * q[t, h] . k[j, h / group]) * v[j, h / group]
//
// over the tokens j <= t of t's sequence (with WINDOW the last `window` of them), whose first tokens several sequences of a pack may share:
// `segments` (attention_segments.ts) says where they lie. THE DEFINING ORDER, which attention_decode.wgsl and
// attention_decode_workgroup.wgsl repeat bit for bit: keys are cut in blocks of $BLOCK from the sequence's
// first token; in a block
//   s_j = sum_d (q_d * scale) * k_jd    d ascending, scale holds log2(e)
//   (where the family caps scores, s_j = cap * tanh(s_j / cap) then)
//   m_b = max_j s_j,  p_j = exp2(s_j - m_b),  l_b = sum_j p_j,  o_b = sum_j p_j * v_j    j ascending
// and blocks join in ascending order:
//   m' = max(m, m_b),  l' = l * exp2(m - m') + l_b * exp2(m_b - m'),  o' likewise.
// Keys after the query, and before its window, have p_j = 0, so how far past them blocks are evaluated does not matter.
//
// A lane owns one token's queries of $HEADS heads of one key/value head; the $LANES lanes of a workgroup are
// neighbouring tokens, which walk the keys together: each loads another key and broadcasts it, for all of their heads.
// A workgroup that holds the end of one segment and the start of another makes one walk for each. For software
// drivers; attention_tiled.wgsl is for hardware.

//#include attention_bindings
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
  //#for h 0 HEADS
  var q$h: array<vec4<f32>, $(D/4)>;
  var o$h: array<vec4<f32>, $(D/4)>;
  for (var c = 0u; c < chunks; c++) { q$h[entry(c)] = load_queries(at$h + c) * params.scale; }
  //#endfor

  // From the last segment in the tile to the first.
  var end = last;
  loop {
    let segment = segments[end];
    let start = min(segment.x, end);
    let prefix = segment.w;
    let lastKey = prefix + (end - start);
    //#for h 0 HEADS
    var m$h = lowest;
    var l$h = 0.0;
    for (var c = 0u; c < chunks; c++) { o$h[entry(c)] = vec4<f32>(0.0); }
    //#endfor

    //#include attention_window_start
    for (var block = begin; block <= lastKey; block += $(BLOCK)u) {
      //#for g 0 BLOCK/LANES
      let row$g = rowOfKey(segment, start, min(block + $(g*LANES)u + lane, lastKey)) * stride + kvAt;
      //#endfor
      //#for h 0 HEADS
      //#for j 0 BLOCK
      var s$(h)_$j = 0.0;
      //#endfor
      //#endfor
      for (var c = 0u; c < chunks; c++) {
        //#for h 0 HEADS
        let x$h = q$h[entry(c)];
        //#endfor
        //#for g 0 BLOCK/LANES
        let k$g = load_keys(row$g + c);
        //#endfor
        //#for j 0 BLOCK
        let key$j = subgroupBroadcast(k$((j-j%LANES)/LANES), $(j%LANES)u);
        //#for h 0 HEADS
        //#for n 0 4
        s$(h)_$j = fma(x$h[$n], key$j[$n], s$(h)_$j);
        //#endfor
        //#endfor
        //#endfor
      }
      let count = position + 1u - min(block, position + 1u);
      //#include attention_skipped
      //#for h 0 HEADS
      //#include softmax_block OF=h SCORE="s"+h+"_" TERM="p"+h+"_"
      //#include softmax_join OF=h
      //#endfor
      for (var c = 0u; c < chunks; c++) {
        //#for g 0 BLOCK/LANES
        let v$g = load_values(row$g + c);
        //#endfor
        //#for h 0 HEADS
        var sum$h = vec4<f32>(0.0);
        //#endfor
        //#for j 0 BLOCK
        let value$j = subgroupBroadcast(v$((j-j%LANES)/LANES), $(j%LANES)u);
        //#for h 0 HEADS
        sum$h = fma(vec4<f32>(p$(h)_$j), value$j, sum$h);
        //#endfor
        //#endfor
        //#for h 0 HEADS
        o$h[entry(c)] = fma(o$h[entry(c)], vec4<f32>(keep$h), sum$h * add$h);
        //#endfor
      }
    }

    if (own.x == start && token <= last) {
      //#for h 0 HEADS
      if (member + $(h)u < headsOfKey) {
        let share = 1.0 / l$h;
        for (var c = 0u; c < chunks; c++) { output[at$h + c] = o$h[entry(c)] * share; }
        //#if !PAGED
        logSumExp[query$h] = (m$h + log2(l$h)) * 0.6931471805599453;
        //#endif
      }
      //#endfor
    }
    if (start <= first) { break; }
    end = start - 1u;
  }
}
