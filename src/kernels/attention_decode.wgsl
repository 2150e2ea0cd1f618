// One new token of each slot attends to its keys in the paged cache, in the defining order of
// attention.wgsl: the same bits as the forward pass gives that token.
//
// Key t of a slot is row pageTable[slot, t / $PAGE] * $PAGE + t % $PAGE of the cache. A workgroup is one
// subgroup of 8 lanes, with a slot and up to 8 query heads of one key/value head: a lane owns a head, and
// loads every eighth key for all of them. For software drivers; attention_decode_split.wgsl is for hardware.

struct Params {
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

// Indexed by a bare loop counter, an array makes Mesa unroll the loop, and compile for minutes.
fn entry(c: u32) -> u32 {
  return min(c, $(D/4-1)u);
}

@compute @workgroup_size(8)
fn main(
  @builtin(workgroup_id) workgroup: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  let chunks = params.chunks;
  let slot = workgroup.x;
  let kvHead = workgroup.y;
  let group = params.heads / params.kvHeads;
  let member = workgroup.z * 8u + lane;
  let head = kvHead * group + min(member, group - 1u);
  let length = min(lengths[slot], params.maxPages * $(PAGE)u);
  let at = (slot * params.heads + head) * chunks;
  let stride = params.kvHeads * chunks;
  let kvAt = kvHead * chunks;

  var q: array<vec4<f32>, $(D/4)>;
  var o: array<vec4<f32>, $(D/4)>;
  for (var c = 0u; c < chunks; c++) {
    q[entry(c)] = queries[at + c] * params.scale;
    o[entry(c)] = vec4<f32>(0.0);
  }
  var m = lowest;
  var l = 0.0;
  for (var block = 0u; block < length; block += $(BLOCK)u) {
    let page = pageTable[slot * params.maxPages + block / $(PAGE)u];
    let base = page * $(PAGE)u + block % $(PAGE)u;
    let count = min($(BLOCK)u, length - block);
    //#for g 0 BLOCK/8
    let row$g = (base + min($(g*8)u + lane, count - 1u)) * stride + kvAt;
    //#endfor
    //#for j 0 BLOCK
    var s$j = 0.0;
    //#endfor
    for (var c = 0u; c < chunks; c++) {
      let x = q[entry(c)];
      //#for g 0 BLOCK/8
      let k$g = cacheKeys[row$g + c];
      //#endfor
      //#for j 0 BLOCK
      let y$j = subgroupBroadcast(k$((j-j%8)/8), $(j%8)u);
      s$j = fma(x.x, y$j.x, s$j);
      s$j = fma(x.y, y$j.y, s$j);
      s$j = fma(x.z, y$j.z, s$j);
      s$j = fma(x.w, y$j.w, s$j);
      //#endfor
    }
    //#include softmax_block
    //#include softmax_join
    for (var c = 0u; c < chunks; c++) {
      //#for g 0 BLOCK/8
      let v$g = cacheValues[row$g + c];
      //#endfor
      var sum = vec4<f32>(0.0);
      //#for j 0 BLOCK
      sum = fma(vec4<f32>(p$j), subgroupBroadcast(v$((j-j%8)/8), $(j%8)u), sum);
      //#endfor
      o[entry(c)] = fma(o[entry(c)], vec4<f32>(keep), sum * add);
    }
  }
  if (member >= group) { return; }
  let share = 1.0 / l;
  for (var c = 0u; c < chunks; c++) {
    output[at + c] = select(vec4<f32>(0.0), o[entry(c)] * share, length > 0u);
  }
}
