// attention.wgsl on tiles of $ROWS queries by $WALK keys, for hardware: the same bits. The softmax of a query's row of
// scores is one lane's work, which leaves p in their place.

//#include attention_bindings
//#include attention_key_row
//#include attention_tile
// What a block does to an output: (keep, add) of softmax_join; after the last, x = 1 / l.
var<workgroup> joins: array<array<array<vec2<f32>, $PY>, $PI>, $(WALK/BLOCK)>;

//#include counted OF=WALK/BLOCK

@compute @workgroup_size($LANES)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  //#include attention_query_head CHUNKS=D/4+"u"
  //#include attention_tile_lane HEADS="params.heads" HEAD="head"
  // The query whose softmax is this lane's.
  let token = first + lane;
  let own = segments[min(token, last)];
  let position = own.w + token - own.x;
  //#include attention_window

  // From the last segment in the tile to the first.
  var end = last;
  loop {
    let segment = segments[end];
    let start = min(segment.x, end);
    let lastKey = segment.w + (end - start);
    var m = lowest;
    var l = 0.0;
    //#for v 0 V
    //#for i 0 PI
    var o$(v)_$i = vec4<f32>(0.0);
    //#endfor
    //#endfor

    //#include attention_window_start
    for (var tile = begin; tile <= lastKey; tile += $(WALK)u) {
      let blocks = min(lastKey - tile, $(WALK-1)u) / $(BLOCK)u + 1u;
      //#include attention_tile_keys
      //#include attention_tile_walked
      //#include attention_tile_scores TO="s" OWNED="queries" WALKED="keys" FACTOR="params.scale"
      //#include attention_tile_put FROM="s"
      workgroupBarrier();

      if (lane < $(ROWS)u) {
        for (var counter = 0u; counter < blocks; counter++) {
          let b = entry(counter);
          let block = tile + b * $(BLOCK)u;
          let count = position + 1u - min(block, position + 1u);
          //#include attention_skipped
          //#for n 0 4
          let four$n = scores[b][lane / $(PY)u][$n][lane % $(PY)u];
          //#for e 0 4
          var s$(4*n+e) = four$n[$e];
          //#endfor
          //#endfor
          //#include softmax_block OF="" SCORE="s" TERM="p"
          //#include softmax_join OF=""
          //#for n 0 4
          scores[b][lane / $(PY)u][$n][lane % $(PY)u] = vec4<f32>(p$(4*n), p$(4*n+1), p$(4*n+2), p$(4*n+3));
          //#endfor
          joins[b][lane / $(PY)u][lane % $(PY)u] = vec2<f32>(keep, add);
        }
      }

      //#for v 0 V
      //#include attention_tile_columns FROM="values" V=v
      for (var counter = 0u; counter < blocks; counter++) {
        let b = entry(counter);
        //#for i 0 PI
        var sum$i = vec4<f32>(0.0);
        //#endfor
        //#include attention_tile_sum SUM="sum"
        //#for i 0 PI
        let join$i = joins[b][$i][py];
        o$(v)_$i = fma(o$(v)_$i, vec4<f32>(join$i.x), sum$i * join$i.y);
        //#endfor
      }
      //#endfor
    }

    workgroupBarrier();
    if (lane < $(ROWS)u) {
      joins[0][lane / $(PY)u][lane % $(PY)u] = vec2<f32>(1.0 / l);
      //#if !PAGED
      if (token >= start && token <= end) {
        logSumExp[token * params.heads + head] = (m + log2(l)) * 0.6931471805599453;
      }
      //#endif
    }
    workgroupBarrier();
    //#for i 0 PI
    let share$i = joins[0][$i][py].x;
    //#for v 0 V
    o$(v)_$i *= share$i;
    //#endfor
    //#endfor
    //#include attention_tile_give TO="output" FROM="o" FACTOR="" HEADS="params.heads" HEAD="head"
    if (start <= first) { break; }
    end = start - 1u;
  }
}
