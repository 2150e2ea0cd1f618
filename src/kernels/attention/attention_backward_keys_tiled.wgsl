// attention_backward_keys.wgsl on tiles of $ROWS keys by $WALK queries, for hardware: the same bits.

//#include attention_backward_bindings OF="keys"
//#include attention_tile
// log2 Σ and delta of the walked queries.
var<workgroup> sums: array<vec2<f32>, $WALK>;
//#if WINDOW
// Positions of the walked queries.
var<workgroup> positions: array<u32, $WALK>;
//#endif

//#include counted OF=WALK/BLOCK

@compute @workgroup_size($LANES)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  let kvHead = group.y;
  let groupSize = params.heads / params.kvHeads;
  let units = params.heads + 2u * params.kvHeads;
  //#include attention_tile_lane HEADS="params.kvHeads" HEAD="kvHead"

  // From the last segment in the tile to the first.
  var end = last;
  loop {
    let segment = segments[end];
    let start = min(segment.x, end);
    let stop = min(segment.y, params.tokens);
    //#if WINDOW
    // A key of the segment is past the window of queries from its row and this on.
    let pastWindow = segment.w + params.window - segment.x;
    //#endif
    //#for v 0 V
    //#for i 0 PI
    var dK$(v)_$i = vec4<f32>(0.0);
    var dV$(v)_$i = vec4<f32>(0.0);
    //#endfor
    //#endfor

    for (var head = kvHead * groupSize; head < (kvHead + 1u) * groupSize; head++) {
      for (var tile = max(start, first); tile < stop; tile += $(WALK)u) {
        let blocks = min(stop - 1u - tile, $(WALK-1)u) / $(BLOCK)u + 1u;
        if (lane < $(WALK)u) {
          let query = min(tile + lane, stop - 1u) * params.heads + head;
          walked[lane] = query * $(D/4)u;
          sums[lane] = vec2<f32>(statistics[query] * 1.4426950408889634, statistics[params.tokens * params.heads + query]);
          //#if WINDOW
          let row = min(tile + lane, stop - 1u);
          let walkedSegment = segments[row];
          positions[lane] = walkedSegment.w + row - walkedSegment.x;
          //#endif
        }
        //#include attention_tile_walked
        //#include attention_tile_scores TO="s" OWNED="keys" WALKED="queries" FACTOR="params.scaleLog2e"
        //#include attention_tile_scores TO="t" OWNED="values" WALKED="outputGradient" FACTOR=""
        //#for j 0 4
        let query$j = tile + lx * 4u + $(j)u;
        let sums$j = sums[lx * 4u + $(j)u];
        //#if WINDOW
        let position$j = positions[lx * 4u + $(j)u];
        //#endif
        //#for i 0 SI
        {
          //#if WINDOW
          let key = first + ly + $(i*LY)u;
          let seen = (query$j >= key) & (query$j < stop) & (position$j < key + pastWindow);
          //#else
          let seen = (query$j >= first + ly + $(i*LY)u) & (query$j < stop);
          //#endif
          //#if CAP
          let score = capped(s$(i)_$j, params.cap, params.inverseCap);
          s$(i)_$j = select(0.0, exp2(score - sums$j.x), seen);
          let slope = s$(i)_$j * capSlope(score, params.inverseCap);
          t$(i)_$j = select(0.0, slope * (t$(i)_$j - sums$j.y), seen);
          //#else
          s$(i)_$j = select(0.0, exp2(s$(i)_$j - sums$j.x), seen);
          t$(i)_$j = select(0.0, s$(i)_$j * (t$(i)_$j - sums$j.y), seen);
          //#endif
        }
        //#endfor
        //#endfor
        //#include attention_tile_put FROM="s"
        //#for v 0 V
        //#include attention_tile_columns FROM="outputGradient" V=v
        for (var counter = 0u; counter < blocks; counter++) {
          let b = entry(counter);
          //#include attention_tile_sum SUM="dV"+v+"_"
        }
        //#endfor
        workgroupBarrier();
        //#include attention_tile_put FROM="t"
        //#for v 0 V
        //#include attention_tile_columns FROM="queries" V=v
        for (var counter = 0u; counter < blocks; counter++) {
          let b = entry(counter);
          //#include attention_tile_sum SUM="dK"+v+"_"
        }
        //#endfor
      }
    }

    //#include attention_tile_give TO="dQkv" FROM="dK" FACTOR="params.scale" HEADS="units" HEAD="params.heads+kvHead"
    //#include attention_tile_give TO="dQkv" FROM="dV" FACTOR="" HEADS="units" HEAD="params.heads+params.kvHeads+kvHead"
    if (start <= first) { break; }
    end = start - 1u;
  }
}
