// Causal attention over packed sequences with grouped key/value heads, never a T x T matrix.
//
//   output[t, h] = sum_j softmax_j(scale * q[t, h] . k[j, h / group]) * v[j, h / group]
//
// over the tokens j <= t of t's sequence, whose first tokens several sequences of a pack may share:
// `segments` (attention_segments.ts) says where they lie. THE DEFINING ORDER, which attention_decode.wgsl and
// attention_decode_workgroup.wgsl repeat bit for bit: keys are cut in blocks of $BLOCK from the sequence's
// first token; in a block
//   s_j = sum_d (q_d * scale) * k_jd    d ascending, scale holds log2(e)
//   m_b = max_j s_j,  p_j = exp2(s_j - m_b),  l_b = sum_j p_j,  o_b = sum_j p_j * v_j    j ascending
// and blocks join in ascending order:
//   m' = max(m, m_b),  l' = l * exp2(m - m') + l_b * exp2(m_b - m'),  o' likewise.
// Keys after the query have p_j = 0, so how far past the query a block is evaluated does not matter.
//
// A lane owns one query of one head; the $LANES lanes of a workgroup are neighbouring tokens, which walk
// the keys together: each loads another key and broadcasts it. A workgroup that holds the end of one segment and
// the start of another makes one walk for each. For software drivers; attention_tiled.wgsl is for hardware.

//#include attention_bindings
//#include attention_key_row

//#include counted OF=D/4

@compute @workgroup_size($LANES)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  //#include attention_broadcast_lane
  //#include attention_query_head CHUNKS="chunks"
  let own = segments[min(token, last)];
  let position = own.w + token - own.x;
  let at = (min(token, last) * params.heads + head) * chunks;

  var q: array<vec4<f32>, $(D/4)>;
  var o: array<vec4<f32>, $(D/4)>;
  for (var c = 0u; c < chunks; c++) { q[entry(c)] = load_queries(at + c) * params.scale; }

  // From the last segment in the tile to the first.
  var end = last;
  loop {
    let segment = segments[end];
    let start = min(segment.x, end);
    let prefix = segment.w;
    let lastKey = prefix + (end - start);
    var m = lowest;
    var l = 0.0;
    for (var c = 0u; c < chunks; c++) { o[entry(c)] = vec4<f32>(0.0); }

    for (var block = 0u; block <= lastKey; block += $(BLOCK)u) {
      //#for g 0 BLOCK/8
      let row$g = rowOfKey(segment, start, min(block + $(g*8)u + lane, lastKey)) * stride + kvAt;
      //#endfor
      //#for j 0 BLOCK
      var s$j = 0.0;
      //#endfor
      for (var c = 0u; c < chunks; c++) {
        let x = q[entry(c)];
        //#for g 0 BLOCK/8
        let k$g = load_keys(row$g + c);
        //#endfor
        //#for j 0 BLOCK
        let y$j = subgroupBroadcast(k$((j-j%8)/8), $(j%8)u);
        s$j = fma(x.x, y$j.x, s$j);
        s$j = fma(x.y, y$j.y, s$j);
        s$j = fma(x.z, y$j.z, s$j);
        s$j = fma(x.w, y$j.w, s$j);
        //#endfor
      }
      let count = position + 1u - min(block, position + 1u);
      //#include softmax_block
      //#include softmax_join OF=""
      for (var c = 0u; c < chunks; c++) {
        //#for g 0 BLOCK/8
        let v$g = load_values(row$g + c);
        //#endfor
        var sum = vec4<f32>(0.0);
        //#for j 0 BLOCK
        sum = fma(vec4<f32>(p$j), subgroupBroadcast(v$((j-j%8)/8), $(j%8)u), sum);
        //#endfor
        o[entry(c)] = fma(o[entry(c)], vec4<f32>(keep), sum * add);
      }
    }

    if (own.x == start && token <= last) {
      let share = 1.0 / l;
      for (var c = 0u; c < chunks; c++) { output[at + c] = o[entry(c)] * share; }
      //#if !PAGED
      logSumExp[token * params.heads + head] = (m + log2(l)) * 0.6931471805599453;
      //#endif
    }
    if (start <= first) { break; }
    end = start - 1u;
  }
}
