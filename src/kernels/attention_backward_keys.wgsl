// The key and value gradients of attention.wgsl:
//
//   dV_j = sum_t p_tj * dO_t,   dK_j = scale * sum_t dS_tj * q_t
//
// over the heads of the key's group and, for each, the queries t >= j of the sequences it belongs to,
// which are the rows from its own to its segment's end, both ascending;
// p and dS as in attention_backward_queries.wgsl, which has run before and left delta.
//
// A lane owns one key of one key/value head; the $LANES lanes of a workgroup are neighbouring tokens,
// which walk the queries together, one walk for each segment in the tile, and broadcast them as in attention.wgsl.

//#include attention_backward_bindings OF="keys"

//#include counted OF=D/4

@compute @workgroup_size($LANES)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  //#include attention_broadcast_lane
  let kvHead = group.y;
  let ownStart = segments[min(token, last)].x;
  let at = (min(token, last) * params.kvHeads + kvHead) * chunks;
  let groupSize = params.heads / params.kvHeads;

  var k: array<vec4<f32>, $(D/4)>;
  var v: array<vec4<f32>, $(D/4)>;
  var dK: array<vec4<f32>, $(D/4)>;
  var dV: array<vec4<f32>, $(D/4)>;
  for (var c = 0u; c < chunks; c++) {
    k[entry(c)] = load_keys(at + c) * params.scaleLog2e;
    v[entry(c)] = load_values(at + c);
  }

  var end = last;
  loop {
    let segment = segments[end];
    let start = min(segment.x, end);
    let stop = min(segment.y, params.tokens);
    for (var c = 0u; c < chunks; c++) {
      dK[entry(c)] = vec4<f32>(0.0);
      dV[entry(c)] = vec4<f32>(0.0);
    }

    for (var head = kvHead * groupSize; head < (kvHead + 1u) * groupSize; head++) {
      for (var block = max(start, first); block < stop; block += $(BLOCK)u) {
        //#for g 0 BLOCK/8
        let query$g = min(block + $(g*8)u + lane, stop - 1u) * params.heads + head;
        let row$g = query$g * chunks;
        let log2Sum$g = logSumExp[query$g] * 1.4426950408889634;
        let delta$g = delta[query$g];
        //#endfor
        //#for i 0 BLOCK
        var s$i = 0.0;
        var t$i = 0.0;
        //#endfor
        for (var c = 0u; c < chunks; c++) {
          let x = k[entry(c)];
          let y = v[entry(c)];
          //#for g 0 BLOCK/8
          let q$g = load_queries(row$g + c);
          let dO$g = load_outputGradient(row$g + c);
          //#endfor
          //#for i 0 BLOCK
          let queryRow$i = subgroupBroadcast(q$((i-i%8)/8), $(i%8)u);
          let gradientRow$i = subgroupBroadcast(dO$((i-i%8)/8), $(i%8)u);
          //#for n 0 4
          s$i = fma(x[$n], queryRow$i[$n], s$i);
          t$i = fma(y[$n], gradientRow$i[$n], t$i);
          //#endfor
          //#endfor
        }
        //#for i 0 BLOCK
        let shift$i = subgroupBroadcast(log2Sum$((i-i%8)/8), $(i%8)u);
        let offset$i = subgroupBroadcast(delta$((i-i%8)/8), $(i%8)u);
        let seen$i = block + $(i)u >= token && block + $(i)u < stop;
        let p$i = select(0.0, exp2(s$i - shift$i), seen$i);
        let dS$i = select(0.0, p$i * (t$i - offset$i), seen$i);
        //#endfor
        for (var c = 0u; c < chunks; c++) {
          //#for g 0 BLOCK/8
          let q$g = load_queries(row$g + c);
          let dO$g = load_outputGradient(row$g + c);
          //#endfor
          var keySum = dK[entry(c)];
          var valueSum = dV[entry(c)];
          //#for i 0 BLOCK
          keySum = fma(vec4<f32>(dS$i), subgroupBroadcast(q$((i-i%8)/8), $(i%8)u), keySum);
          valueSum = fma(vec4<f32>(p$i), subgroupBroadcast(dO$((i-i%8)/8), $(i%8)u), valueSum);
          //#endfor
          dK[entry(c)] = keySum;
          dV[entry(c)] = valueSum;
        }
      }
    }

    if (ownStart == start && token <= last) {
      for (var c = 0u; c < chunks; c++) {
        dKeys[at + c] = dK[entry(c)] * params.scale;
        dValues[at + c] = dV[entry(c)];
      }
    }
    if (start <= first) { break; }
    end = start - 1u;
  }
}
