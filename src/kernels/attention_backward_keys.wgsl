// The key and value gradients of attention.wgsl:
//
//   dV_j = sum_t p_tj * dO_t,   dK_j = scale * sum_t dS_tj * q_t
//
// over the heads of the key's group and, for each, the queries t >= j of the sequences it belongs to,
// which are the rows from its own to its segment's end, both ascending;
// p and dS as in attention_backward_queries.wgsl, which has run before and left delta.
//
// A lane owns one key of one key/value head; the $LANES lanes of a workgroup are neighbouring tokens,
// which walk the queries together, one walk for each segment in the tile. SHARE as in attention.wgsl.

struct Params {
  tokens: u32,
  heads: u32,
  kvHeads: u32,
  scale: f32,
  scaleLog2e: f32,
  chunks: u32,    // vectors of one head, D / 4
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> queries: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> keys: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> values: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read> outputGradient: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read> logSumExp: array<f32>;
@group(0) @binding(6) var<storage, read> delta: array<f32>;
@group(0) @binding(7) var<storage, read> segments: array<vec4<u32>>;
@group(0) @binding(8) var<storage, read_write> dKeys: array<vec4<f32>>;
@group(0) @binding(9) var<storage, read_write> dValues: array<vec4<f32>>;

// Indexed by a bare loop counter, an array makes Mesa unroll the loop, and compile for minutes.
fn entry(c: u32) -> u32 {
  return min(c, $(D/4-1)u);
}

@compute @workgroup_size($LANES)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  //#if UNROLL
  let chunks = $(D/4)u;
  //#else
  let chunks = params.chunks;
  //#endif
  let first = group.x * $(LANES)u;
  let last = min(first + $(LANES)u, params.tokens) - 1u;
  let kvHead = group.y;
  let token = first + lane;
  let ownStart = segments[min(token, last)].x;
  let at = (min(token, last) * params.kvHeads + kvHead) * chunks;
  let groupSize = params.heads / params.kvHeads;

  var k: array<vec4<f32>, $(D/4)>;
  var v: array<vec4<f32>, $(D/4)>;
  var dK: array<vec4<f32>, $(D/4)>;
  var dV: array<vec4<f32>, $(D/4)>;
  for (var c = 0u; c < chunks; c++) {
    k[entry(c)] = keys[at + c] * params.scaleLog2e;
    v[entry(c)] = values[at + c];
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
        //#for g 0 BLOCK/WIDTH
        //#if SHARE
        let query$g = min(block + $(g*WIDTH)u + lane, stop - 1u) * params.heads + head;
        //#else
        let query$g = min(block + $(g)u, stop - 1u) * params.heads + head;
        //#endif
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
          //#for g 0 BLOCK/WIDTH
          let q$g = queries[row$g + c];
          let dO$g = outputGradient[row$g + c];
          //#endfor
          //#for i 0 BLOCK
          //#if SHARE
          let queryRow$i = subgroupBroadcast(q$((i-i%WIDTH)/WIDTH), $(i%WIDTH)u);
          let gradientRow$i = subgroupBroadcast(dO$((i-i%WIDTH)/WIDTH), $(i%WIDTH)u);
          //#else
          let queryRow$i = q$i;
          let gradientRow$i = dO$i;
          //#endif
          //#for n 0 4
          s$i = fma(x[$n], queryRow$i[$n], s$i);
          t$i = fma(y[$n], gradientRow$i[$n], t$i);
          //#endfor
          //#endfor
        }
        //#for i 0 BLOCK
        //#if SHARE
        let shift$i = subgroupBroadcast(log2Sum$((i-i%WIDTH)/WIDTH), $(i%WIDTH)u);
        let offset$i = subgroupBroadcast(delta$((i-i%WIDTH)/WIDTH), $(i%WIDTH)u);
        //#else
        let shift$i = log2Sum$i;
        let offset$i = delta$i;
        //#endif
        let seen$i = block + $(i)u >= token && block + $(i)u < stop;
        let p$i = select(0.0, exp2(s$i - shift$i), seen$i);
        let dS$i = select(0.0, p$i * (t$i - offset$i), seen$i);
        //#endfor
        for (var c = 0u; c < chunks; c++) {
          //#for g 0 BLOCK/WIDTH
          let q$g = queries[row$g + c];
          let dO$g = outputGradient[row$g + c];
          //#endfor
          var keySum = dK[entry(c)];
          var valueSum = dV[entry(c)];
          //#for i 0 BLOCK
          //#if SHARE
          keySum = fma(vec4<f32>(dS$i), subgroupBroadcast(q$((i-i%WIDTH)/WIDTH), $(i%WIDTH)u), keySum);
          valueSum = fma(vec4<f32>(p$i), subgroupBroadcast(dO$((i-i%WIDTH)/WIDTH), $(i%WIDTH)u), valueSum);
          //#else
          keySum = fma(vec4<f32>(dS$i), q$i, keySum);
          valueSum = fma(vec4<f32>(p$i), dO$i, valueSum);
          //#endif
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
