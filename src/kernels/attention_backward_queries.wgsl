// The query gradient of attention.wgsl, and delta[t, h] = sum_d dO[t, h, d] * O[t, h, d]:
//
//   p_j = exp(scale * q . k_j - logSumExp),  dS_j = p_j * (dO . v_j - delta),  dQ = scale * sum_j dS_j * k_j
//
// keys j in ascending order from the sequence's first. Lanes, walks and segments as in attention.wgsl.
// (FlashAttention-2, Dao 2023, with the probabilities recomputed from the saved log-sum-exp.)

//#include attention_backward_bindings OF="queries"
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
  let query = min(token, last) * params.heads + head;
  let at = query * chunks;

  var q: array<vec4<f32>, $(D/4)>;
  var dO: array<vec4<f32>, $(D/4)>;
  var dQ: array<vec4<f32>, $(D/4)>;
  var products = vec4<f32>(0.0);
  for (var c = 0u; c < chunks; c++) {
    q[entry(c)] = load_queries(at + c) * params.scaleLog2e;
    dO[entry(c)] = load_outputGradient(at + c);
    products = fma(dO[entry(c)], output[at + c], products);
  }
  let ownDelta = (products.x + products.y) + (products.z + products.w);
  let log2Sum = logSumExp[query] * 1.4426950408889634;

  var end = last;
  loop {
    let segment = segments[end];
    let start = min(segment.x, end);
    let prefix = segment.w;
    let lastKey = prefix + (end - start);
    for (var c = 0u; c < chunks; c++) { dQ[entry(c)] = vec4<f32>(0.0); }

    for (var block = 0u; block <= lastKey; block += $(BLOCK)u) {
      //#for g 0 BLOCK/8
      let row$g = rowOfKey(segment, start, min(block + $(g*8)u + lane, lastKey)) * stride + kvAt;
      //#endfor
      //#for j 0 BLOCK
      var s$j = 0.0;
      var t$j = 0.0;
      //#endfor
      for (var c = 0u; c < chunks; c++) {
        let x = q[entry(c)];
        let y = dO[entry(c)];
        //#for g 0 BLOCK/8
        let k$g = load_keys(row$g + c);
        let v$g = load_values(row$g + c);
        //#endfor
        //#for j 0 BLOCK
        let key$j = subgroupBroadcast(k$((j-j%8)/8), $(j%8)u);
        let value$j = subgroupBroadcast(v$((j-j%8)/8), $(j%8)u);
        //#for n 0 4
        s$j = fma(x[$n], key$j[$n], s$j);
        t$j = fma(y[$n], value$j[$n], t$j);
        //#endfor
        //#endfor
      }
      //#for j 0 BLOCK
      let dS$j = select(0.0, exp2(s$j - log2Sum) * (t$j - ownDelta), block + $(j)u <= position);
      //#endfor
      for (var c = 0u; c < chunks; c++) {
        //#for g 0 BLOCK/8
        let k$g = load_keys(row$g + c);
        //#endfor
        var sum = dQ[entry(c)];
        //#for j 0 BLOCK
        sum = fma(vec4<f32>(dS$j), subgroupBroadcast(k$((j-j%8)/8), $(j%8)u), sum);
        //#endfor
        dQ[entry(c)] = sum;
      }
    }

    if (own.x == start && token <= last) {
      for (var c = 0u; c < chunks; c++) { dQueries[at + c] = dQ[entry(c)] * params.scale; }
      delta[query] = ownDelta;
    }
    if (start <= first) { break; }
    end = start - 1u;
  }
}
