// Causal attention over packed sequences with grouped key/value heads, never a T x T matrix.
//
//   output[t, h] = sum_j softmax_j(scale * q[t, h] . k[j, h / group]) * v[j, h / group]
//
// over the tokens j <= t of t's sequence, whose first tokens several sequences of a pack may share:
// `segments` (attention_segments.ts) says where they lie. THE DEFINING ORDER, which attention_decode.wgsl and
// attention_decode_split.wgsl repeat bit for bit: keys are cut in blocks of $BLOCK from the sequence's
// first token; in a block
//   s_j = sum_d (q_d * scale) * k_jd    d ascending, scale holds log2(e)
//   m_b = max_j s_j,  p_j = exp2(s_j - m_b),  l_b = sum_j p_j,  o_b = sum_j p_j * v_j    j ascending
// and blocks join in ascending order:
//   m' = max(m, m_b),  l' = l * exp2(m - m') + l_b * exp2(m_b - m'),  o' likewise.
// Keys after the query have p_j = 0, so how far past the query a block is evaluated does not matter.
//
// A lane owns one query of one head; the $LANES lanes of a workgroup are neighbouring tokens, which walk
// the keys together. A workgroup that holds the end of one segment and the start of another makes one
// walk for each. SHARE: each of 8 lanes loads another key and broadcasts it (software driver, whose
// subgroups have 8 lanes); else all lanes load the same address, which hardware serves at once.
//
// PAGED: keys and values are the cache's, which holds the keys of the queries themselves too. Key t of a segment
// is row pageTable[z + t / $PAGE] * $PAGE + t % $PAGE, z and w (the position of the segment's first token) from
// `segments`. There is then no logSumExp.

struct Params {
  tokens: u32,
  heads: u32,
  kvHeads: u32,
  scale: f32,     // times log2(e)
  chunks: u32,    // vectors of one head, D / 4
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> queries: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> keys: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> values: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read> segments: array<vec4<u32>>;
@group(0) @binding(5) var<storage, read_write> output: array<vec4<f32>>;
//#if PAGED
@group(0) @binding(6) var<storage, read> pageTable: array<u32>;
//#else
@group(0) @binding(6) var<storage, read_write> logSumExp: array<f32>;
//#endif

const lowest = -3.0e38;

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
  let head = group.y;
  let token = first + lane;
  let own = segments[min(token, last)];
  let position = own.w + token - own.x;
  let at = (min(token, last) * params.heads + head) * chunks;
  let stride = params.kvHeads * chunks;
  let kvAt = head / (params.heads / params.kvHeads) * chunks;

  var q: array<vec4<f32>, $(D/4)>;
  var o: array<vec4<f32>, $(D/4)>;
  for (var c = 0u; c < chunks; c++) { q[entry(c)] = queries[at + c] * params.scale; }

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
      //#if PAGED
      let base = pageTable[segment.z + block / $(PAGE)u] * $(PAGE)u + block % $(PAGE)u - block;
      //#endif
      //#for g 0 BLOCK/WIDTH
      //#if SHARE
      let key$g = min(block + $(g*WIDTH)u + lane, lastKey);
      //#else
      let key$g = min(block + $(g)u, lastKey);
      //#endif
      //#if PAGED
      let row$g = (base + key$g) * stride + kvAt;
      //#else
      let row$g = select(start + (key$g - prefix), segment.z + key$g, key$g < prefix) * stride + kvAt;
      //#endif
      //#endfor
      //#for j 0 BLOCK
      var s$j = 0.0;
      //#endfor
      for (var c = 0u; c < chunks; c++) {
        let x = q[entry(c)];
        //#for g 0 BLOCK/WIDTH
        let k$g = keys[row$g + c];
        //#endfor
        //#for j 0 BLOCK
        //#if SHARE
        let y$j = subgroupBroadcast(k$((j-j%WIDTH)/WIDTH), $(j%WIDTH)u);
        //#else
        let y$j = k$j;
        //#endif
        s$j = fma(x.x, y$j.x, s$j);
        s$j = fma(x.y, y$j.y, s$j);
        s$j = fma(x.z, y$j.z, s$j);
        s$j = fma(x.w, y$j.w, s$j);
        //#endfor
      }
      var blockMax = lowest;
      //#for j 0 BLOCK
      s$j = select(lowest, s$j, block + $(j)u <= position);
      blockMax = max(blockMax, s$j);
      //#endfor
      var blockSum = 0.0;
      //#for j 0 BLOCK
      let p$j = select(0.0, exp2(s$j - blockMax), block + $(j)u <= position);
      blockSum += p$j;
      //#endfor
      let newMax = max(m, blockMax);
      let keep = exp2(m - newMax);
      let add = exp2(blockMax - newMax);
      m = newMax;
      l = fma(l, keep, blockSum * add);
      for (var c = 0u; c < chunks; c++) {
        //#for g 0 BLOCK/WIDTH
        let v$g = values[row$g + c];
        //#endfor
        var sum = vec4<f32>(0.0);
        //#for j 0 BLOCK
        //#if SHARE
        sum = fma(vec4<f32>(p$j), subgroupBroadcast(v$((j-j%WIDTH)/WIDTH), $(j%WIDTH)u), sum);
        //#else
        sum = fma(vec4<f32>(p$j), v$j, sum);
        //#endif
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
