// The key and value gradients of attention.wgsl:
//
//   dV_j = sum_t p_tj * dO_t,   dK_j = scale * sum_t dS_tj * q_t
//
// over the heads of the key's group and, for each, the queries t >= j of the sequences it belongs to,
// which are the rows from its own to its segment's end, both ascending;
// p and dS as in attention_backward_queries.wgsl, which has run before and left delta.
//
// A lane owns $KEYS keys of one key/value head, $LANES tokens apart; a workgroup's are neighbouring tokens. Its
// lanes walk the queries together, one walk for each segment in the tile, and broadcast them as in attention.wgsl, or
// where heads are small all load the same ones (UNIFORM).

//#include attention_backward_bindings OF="keys"

//#include counted OF=D/4

@compute @workgroup_size($LANES)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  //#include attention_broadcast_lane TOKENS=LANES*KEYS
  let kvHead = group.y;
  let groupSize = params.heads / params.kvHeads;
  let units = params.heads + 2u * params.kvHeads;
  //#for o 0 KEYS
  let token$o = token + $(o*LANES)u;
  let ownStart$o = segments[min(token$o, last)].x;
  //#if WINDOW
  let pastWindow$o = segments[min(token$o, last)].w + token$o - ownStart$o + params.window;
  //#endif
  let at$o = (min(token$o, last) * params.kvHeads + kvHead) * chunks;
  var k$o: array<vec4<f32>, $(D/4)>;
  var v$o: array<vec4<f32>, $(D/4)>;
  var dK$o: array<vec4<f32>, $(D/4)>;
  var dV$o: array<vec4<f32>, $(D/4)>;
  for (var c = 0u; c < chunks; c++) {
    k$o[entry(c)] = load_keys(at$o + c) * params.scaleLog2e;
    v$o[entry(c)] = load_values(at$o + c);
  }
  //#endfor

  var end = last;
  loop {
    let segment = segments[end];
    let start = min(segment.x, end);
    let stop = min(segment.y, params.tokens);
    for (var c = 0u; c < chunks; c++) {
      //#for o 0 KEYS
      dK$o[entry(c)] = vec4<f32>(0.0);
      dV$o[entry(c)] = vec4<f32>(0.0);
      //#endfor
    }

    for (var head = kvHead * groupSize; head < (kvHead + 1u) * groupSize; head++) {
      for (var block = max(start, first); block < stop; block += $(BLOCK)u) {
        //#for g 0 LOADS
        //#include attention_walked G=g
        let ofWalk$g = min(walked$g, stop - 1u);
        let query$g = ofWalk$g * params.heads + head;
        let row$g = query$g * chunks;
        let log2Sum$g = statistics[query$g] * 1.4426950408889634;
        let delta$g = statistics[params.tokens * params.heads + query$g];
        //#if WINDOW
        let walkedSegment$g = segments[ofWalk$g];
        let walkedAt$g = walkedSegment$g.w + ofWalk$g - walkedSegment$g.x;
        //#endif
        //#endfor
        //#for o 0 KEYS
        //#for i 0 BLOCK
        var s$(o)_$i = 0.0;
        var t$(o)_$i = 0.0;
        //#endfor
        //#endfor
        for (var c = 0u; c < chunks; c++) {
          //#for o 0 KEYS
          let x$o = k$o[entry(c)];
          let y$o = v$o[entry(c)];
          //#endfor
          //#if !UNIFORM
          //#for g 0 LOADS
          let q$g = load_queries(row$g + c);
          let dO$g = load_outputGradient(row$g + c);
          //#endfor
          //#endif
          //#for i 0 BLOCK
          //#include attention_walked_row J=i NAME="queryRow" FROM="queries" HELD="q"
          //#include attention_walked_row J=i NAME="gradientRow" FROM="outputGradient" HELD="dO"
          //#for o 0 KEYS
          //#for n 0 4
          s$(o)_$i = fma(x$o[$n], queryRow$i[$n], s$(o)_$i);
          t$(o)_$i = fma(y$o[$n], gradientRow$i[$n], t$(o)_$i);
          //#endfor
          //#endfor
          //#endfor
        }
        //#for i 0 BLOCK
        //#if UNIFORM
        let shift$i = log2Sum$i;
        let offset$i = delta$i;
        //#if WINDOW
        let position$i = walkedAt$i;
        //#endif
        //#else
        let shift$i = subgroupBroadcast(log2Sum$((i-i%LANES)/LANES), $(i%LANES)u);
        let offset$i = subgroupBroadcast(delta$((i-i%LANES)/LANES), $(i%LANES)u);
        //#if WINDOW
        let position$i = subgroupBroadcast(walkedAt$((i-i%LANES)/LANES), $(i%LANES)u);
        //#endif
        //#endif
        //#for o 0 KEYS
        //#if WINDOW
        let seen$(o)_$i = (block + $(i)u >= token$o) & (block + $(i)u < stop) & (position$i < pastWindow$o);
        //#else
        let seen$(o)_$i = (block + $(i)u >= token$o) & (block + $(i)u < stop);
        //#endif
        //#if CAP
        let capped$(o)_$i = capped(s$(o)_$i, params.cap, params.inverseCap);
        let p$(o)_$i = select(0.0, exp2(capped$(o)_$i - shift$i), seen$(o)_$i);
        let slope$(o)_$i = p$(o)_$i * capSlope(capped$(o)_$i, params.inverseCap);
        let dS$(o)_$i = select(0.0, slope$(o)_$i * (t$(o)_$i - offset$i), seen$(o)_$i);
        //#else
        let p$(o)_$i = select(0.0, exp2(s$(o)_$i - shift$i), seen$(o)_$i);
        let dS$(o)_$i = select(0.0, p$(o)_$i * (t$(o)_$i - offset$i), seen$(o)_$i);
        //#endif
        //#endfor
        //#endfor
        for (var c = 0u; c < chunks; c++) {
          //#if !UNIFORM
          //#for g 0 LOADS
          let q$g = load_queries(row$g + c);
          let dO$g = load_outputGradient(row$g + c);
          //#endfor
          //#endif
          //#for o 0 KEYS
          var keySum$o = dK$o[entry(c)];
          var valueSum$o = dV$o[entry(c)];
          //#endfor
          //#for i 0 BLOCK
          //#include attention_walked_row J=i NAME="queryRow" FROM="queries" HELD="q"
          //#include attention_walked_row J=i NAME="gradientRow" FROM="outputGradient" HELD="dO"
          //#for o 0 KEYS
          keySum$o = fma(vec4<f32>(dS$(o)_$i), queryRow$i, keySum$o);
          valueSum$o = fma(vec4<f32>(p$(o)_$i), gradientRow$i, valueSum$o);
          //#endfor
          //#endfor
          //#for o 0 KEYS
          dK$o[entry(c)] = keySum$o;
          dV$o[entry(c)] = valueSum$o;
          //#endfor
        }
      }
    }

    //#for o 0 KEYS
    if (ownStart$o == start && token$o <= last) {
      let to$o = (token$o * units + params.heads + kvHead) * chunks;
      for (var c = 0u; c < chunks; c++) {
        dQkv[to$o + c] = dK$o[entry(c)] * params.scale;
        dQkv[to$o + params.kvHeads * chunks + c] = dV$o[entry(c)];
      }
    }
    //#endfor
    if (start <= first) { break; }
    end = start - 1u;
  }
}
