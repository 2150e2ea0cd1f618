// One new token of each slot attends to its keys in the paged cache, in the defining order of
// attention.wgsl: the same bits as the forward pass gives that token.
//
// Key t of a slot is row pageTable[slot, t / $PAGE] * $PAGE + t % $PAGE of the cache. A lane owns one head of one slot
// and walks its keys alone: many slots fill the lanes of a software driver without any exchange.

struct Params {
  slots: u32,
  heads: u32,
  kvHeads: u32,
  maxPages: u32,  // entries of one slot's row of the page table
  scale: f32,     // times log2(e)
  chunks: u32,    // vectors of one head, D / 4
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> queries: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> cacheKeys: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> cacheValues: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read> pageTable: array<u32>;
@group(0) @binding(5) var<storage, read> lengths: array<u32>;
@group(0) @binding(6) var<storage, read_write> output: array<vec4<f32>>;

const lowest = -3.0e38;

@compute @workgroup_size($LANES)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  //#if UNROLL
  let chunks = $(D/4)u;
  //#else
  let chunks = params.chunks;
  //#endif
  let index = (group.y * groups.x + group.x) * $(LANES)u + lane;
  if (index >= params.slots * params.heads) { return; }
  let slot = index / params.heads;
  let head = index % params.heads;
  let length = min(lengths[slot], params.maxPages * $(PAGE)u);
  let at = index * chunks;
  let stride = params.kvHeads * chunks;
  let kvAt = head / (params.heads / params.kvHeads) * chunks;

  var q: array<vec4<f32>, $(D/4)>;
  var o: array<vec4<f32>, $(D/4)>;
  for (var c = 0u; c < chunks; c++) {
    q[c] = queries[at + c] * params.scale;
    o[c] = vec4<f32>(0.0);
  }
  var m = lowest;
  var l = 0.0;
  for (var block = 0u; block < length; block += $(BLOCK)u) {
    let page = pageTable[slot * params.maxPages + block / $(PAGE)u];
    let base = page * $(PAGE)u + block % $(PAGE)u;
    let past = min($(BLOCK)u, length - block);
    //#for j 0 BLOCK
    let row$j = (base + min($(j)u, past - 1u)) * stride + kvAt;
    var s$j = 0.0;
    //#endfor
    for (var c = 0u; c < chunks; c++) {
      let x = q[c];
      //#for j 0 BLOCK
      let k$j = cacheKeys[row$j + c];
      //#endfor
      //#for j 0 BLOCK
      s$j = fma(x.x, k$j.x, s$j);
      s$j = fma(x.y, k$j.y, s$j);
      s$j = fma(x.z, k$j.z, s$j);
      s$j = fma(x.w, k$j.w, s$j);
      //#endfor
    }
    var blockMax = lowest;
    //#for j 0 BLOCK
    s$j = select(lowest, s$j, $(j)u < past);
    blockMax = max(blockMax, s$j);
    //#endfor
    var blockSum = 0.0;
    //#for j 0 BLOCK
    let p$j = select(0.0, exp2(s$j - blockMax), $(j)u < past);
    blockSum += p$j;
    //#endfor
    let newMax = max(m, blockMax);
    let keep = exp2(m - newMax);
    let add = exp2(blockMax - newMax);
    m = newMax;
    l = fma(l, keep, blockSum * add);
    for (var c = 0u; c < chunks; c++) {
      //#for j 0 BLOCK
      let v$j = cacheValues[row$j + c];
      //#endfor
      var sum = vec4<f32>(0.0);
      //#for j 0 BLOCK
      sum = fma(vec4<f32>(p$j), v$j, sum);
      //#endfor
      o[c] = fma(o[c], vec4<f32>(keep), sum * add);
    }
  }
  let share = 1.0 / l;
  for (var c = 0u; c < chunks; c++) {
    output[at + c] = select(vec4<f32>(0.0), o[c] * share, length > 0u);
  }
}
