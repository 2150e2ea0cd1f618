// attention_backward_queries.wgsl on tiles of $ROWS queries by $WALK keys, for hardware: the same bits.

//#include attention_backward_bindings OF="queries"
//#include attention_key_row
//#include attention_tile
// log2 Σ and delta of the owned queries, and their positions, as lanes of the scores have them.
var<workgroup> sums: array<array<vec2<f32>, $LY>, $SI>;
var<workgroup> positions: array<array<u32, $LY>, $SI>;

//#include counted OF=WALK/BLOCK

@compute @workgroup_size($LANES)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  //#include attention_query_head CHUNKS=D/4+"u"
  //#include attention_tile_lane HEADS="params.heads" HEAD="head"
  if (lane < $(ROWS)u) {
    let token = min(first + lane, last);
    let own = segments[token];
    let query = token * params.heads + head;
    var products = vec4<f32>(0.0);
    for (var c = 0u; c < params.chunks; c++) {
      products = fma(load_outputGradient(query * $(D/4)u + c), output[query * $(D/4)u + c], products);
    }
    let ownDelta = (products.x + products.y) + (products.z + products.w);
    if (first + lane <= last) { statistics[params.tokens * params.heads + query] = ownDelta; }
    sums[lane / $(LY)u][lane % $(LY)u] = vec2<f32>(statistics[query] * 1.4426950408889634, ownDelta);
    positions[lane / $(LY)u][lane % $(LY)u] = own.w + token - own.x;
  }

  // From the last segment in the tile to the first.
  var end = last;
  loop {
    let segment = segments[end];
    let start = min(segment.x, end);
    let lastKey = segment.w + (end - start);
    //#for v 0 V
    //#for i 0 PI
    var dQ$(v)_$i = vec4<f32>(0.0);
    //#endfor
    //#endfor

    //#include attention_window_start
    for (var tile = begin; tile <= lastKey; tile += $(WALK)u) {
      let blocks = min(lastKey - tile, $(WALK-1)u) / $(BLOCK)u + 1u;
      //#include attention_tile_keys
      //#include attention_tile_walked
      //#include attention_tile_scores TO="s" OWNED="queries" WALKED="keys" FACTOR="params.scaleLog2e"
      //#include attention_tile_scores TO="t" OWNED="outputGradient" WALKED="values" FACTOR=""
      //#for i 0 SI
      let sums$i = sums[$i][ly];
      let position$i = positions[$i][ly];
      //#for j 0 4
      {
        let key = tile + lx * 4u + $(j)u;
        //#if WINDOW
        let seen = (key <= position$i) & (key + params.window > position$i);
        //#else
        let seen = key <= position$i;
        //#endif
        //#if CAP
        let score = capped(s$(i)_$j, params.cap, params.inverseCap);
        let slope = exp2(score - sums$i.x) * capSlope(score, params.inverseCap);
        s$(i)_$j = select(0.0, slope * (t$(i)_$j - sums$i.y), seen);
        //#else
        s$(i)_$j = select(0.0, exp2(s$(i)_$j - sums$i.x) * (t$(i)_$j - sums$i.y), seen);
        //#endif
      }
      //#endfor
      //#endfor
      //#include attention_tile_put FROM="s"

      //#for v 0 V
      //#include attention_tile_columns FROM="keys" V=v
      for (var counter = 0u; counter < blocks; counter++) {
        let b = entry(counter);
        //#include attention_tile_sum SUM="dQ"+v+"_"
      }
      //#endfor
    }

    //#include attention_tile_give TO="dQkv" FROM="dQ" FACTOR="params.scale" HEADS="(params.heads+2u*params.kvHeads)" HEAD="head"
    if (start <= first) { break; }
    end = start - 1u;
  }
}
