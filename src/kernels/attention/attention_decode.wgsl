// One new token of each slot attends to its keys in the paged cache, in the defining order of
// attention.wgsl: the same bits as the forward pass gives that token.
//
// Key t of a slot is row pageTable[slot, t / $PAGE] * $PAGE + t % $PAGE of the cache. A workgroup is $LANES
// lanes of a subgroup, with a slot and $HEADS query heads of one key/value head. All lanes work however few the
// heads: for the scores a lane owns every LANES-th key of a block, for the sums over values every LANES-th pair of
// elements of the head; what a key weighs then goes from its lane to all by a broadcast, which such drivers do in a
// register. So does a query of up to LANES * SHARES vectors, which the lanes load; of a longer one all lanes load the
// same vector, several times as dear.
// For software drivers; attention_decode_workgroup.wgsl is for hardware.

struct Params {
  heads: u32,
  kvHeads: u32,
  maxPages: u32,  // entries of one slot's row of the page table
  scale: f32,     // times log2(e)
  chunks: u32,    // vectors of one head, D / 4
  rounds: u32,    // pairs of elements of one head that a lane has, the last lanes may have one less
  //#if WINDOW
  window: u32,    // keys that a query sees, its own the last
  //#endif
  //#if CAP
  cap: f32,         // of scores, times log2(e)
  inverseCap: f32,
  //#endif
}

//#if CAP
//#include capped
//#endif

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> queries: array<vec4<f32>>;
//#include stored_vectors NAME="cacheKeys" BINDING=2
//#if STORAGE != "f32"
@group(0) @binding(3) var<storage, read> cacheValues: array<u32>;
//#else
//#if WIDE
@group(0) @binding(3) var<storage, read> cacheValues: array<u64>;
//#else
@group(0) @binding(3) var<storage, read> cacheValues: array<vec2<f32>>;
//#endif
//#endif
@group(0) @binding(4) var<storage, read> pageTable: array<u32>;
@group(0) @binding(5) var<storage, read> lengths: array<u32>;
//#include written_pairs NAME="output" BINDING=6

const lowest = -3.0e38;

//#include counted OF=ROUNDS

fn load_pair(index: u32) -> vec2<f32> {
  //#if STORAGE == "f16"
  return unpack2x16float(cacheValues[index]);
  //#else
  //#if STORAGE == "bf16"
  let word = cacheValues[index];
  return bitcast<vec2<f32>>(vec2<u32>(word << 16u, word & 0xffff0000u));
  //#else
  //#if WIDE
  let words = cacheValues[index];
  return bitcast<vec2<f32>>(vec2<u32>(u32(words), u32(words >> 32u)));
  //#else
  return cacheValues[index];
  //#endif
  //#endif
  //#endif
}

@compute @workgroup_size($LANES)
fn main(
  @builtin(workgroup_id) workgroup: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  let chunks = params.chunks;
  let rounds = params.rounds;
  let slot = workgroup.x;
  let kvHead = workgroup.y;
  let group = params.heads / params.kvHeads;
  let member = workgroup.z * $(HEADS)u;
  let length = min(lengths[slot], params.maxPages * $(PAGE)u);
  let stride = params.kvHeads * chunks;
  let kvAt = kvHead * chunks;
  //#for h 0 HEADS
  let at$h = (slot * params.heads + kvHead * group + min(member + $(h)u, group - 1u)) * chunks;
  //#for e 0 SHARES
  let q$(h)_$e = queries[at$h + min($(LANES*e)u + lane, chunks - 1u)] * params.scale;
  //#endfor
  var o$h: array<vec2<f32>, $ROUNDS>;
  for (var i = 0u; i < rounds; i++) { o$h[entry(i)] = vec2<f32>(0.0); }
  var m$h = lowest;
  var l$h = 0.0;
  //#endfor
  //#if WINDOW
  let firstKey = length - min(params.window, length);
  for (var block = firstKey / $(BLOCK)u * $(BLOCK)u; block < length; block += $(BLOCK)u) {
  //#else
  for (var block = 0u; block < length; block += $(BLOCK)u) {
  //#endif
    let page = pageTable[slot * params.maxPages + block / $(PAGE)u];
    let base = page * $(PAGE)u + block % $(PAGE)u;
    let count = min($(BLOCK)u, length - block);
    //#for g 0 BLOCK/LANES
    //#if WINDOW
    let inside$g = ($(g*LANES)u + lane < count) & (block + $(g*LANES)u + lane >= firstKey);
    //#else
    let inside$g = $(g*LANES)u + lane < count;
    //#endif
    let row$g = (base + min($(g*LANES)u + lane, count - 1u)) * stride + kvAt;
    //#for h 0 HEADS
    var s$(h)_$(g) = 0.0;
    //#endfor
    //#endfor
    //#if SHARES > 0
    //#for c 0 D/4
    {
      //#for h 0 HEADS
      let x$h = subgroupBroadcast(q$(h)_$((c-c%LANES)/LANES), $(c%LANES)u);
      //#endfor
      //#include attention_decode_scores CHUNK=c+"u"
    }
    //#endfor
    //#else
    for (var c = 0u; c < chunks; c++) {
      //#for h 0 HEADS
      let x$h = queries[at$h + c] * params.scale;
      //#endfor
      //#include attention_decode_scores CHUNK="c"
    }
    //#endif
    //#for h 0 HEADS
    var blockMax$h = lowest;
    //#for g 0 BLOCK/LANES
    //#if CAP
    s$(h)_$(g) = capped(s$(h)_$(g), params.cap, params.inverseCap);
    //#endif
    s$(h)_$(g) = select(lowest, s$(h)_$(g), inside$g);
    //#endfor
    //#for j 0 BLOCK
    blockMax$h = max(blockMax$h, subgroupBroadcast(s$(h)_$((j-j%LANES)/LANES), $(j%LANES)u));
    //#endfor
    //#for g 0 BLOCK/LANES
    let e$(h)_$(g) = select(0.0, exp2(s$(h)_$(g) - blockMax$h), inside$g);
    //#endfor
    var blockSum$h = 0.0;
    //#for j 0 BLOCK
    let p$(h)_$(j) = subgroupBroadcast(e$(h)_$((j-j%LANES)/LANES), $(j%LANES)u);
    blockSum$h += p$(h)_$(j);
    //#endfor
    //#include softmax_join OF=h
    //#endfor
    //#for j 0 BLOCK
    let valueRow$j = ((base + min($(j)u, count - 1u)) * stride + kvAt) * 2u;
    //#endfor
    for (var i = 0u; i < rounds; i++) {
      let pair = min(i * $(LANES)u + lane, $(D/2-1)u);
      //#for h 0 HEADS
      var sum$h = vec2<f32>(0.0);
      //#endfor
      //#for j 0 BLOCK
      let v$j = load_pair(valueRow$j + pair);
      //#for h 0 HEADS
      sum$h = fma(vec2<f32>(p$(h)_$(j)), v$j, sum$h);
      //#endfor
      //#endfor
      //#for h 0 HEADS
      o$h[entry(i)] = fma(o$h[entry(i)], vec2<f32>(keep$h), sum$h * add$h);
      //#endfor
    }
  }
  //#for h 0 HEADS
  let share$h = 1.0 / l$h;
  if (member + $(h)u < group) {
    for (var i = 0u; i < rounds; i++) {
      let pair = i * $(LANES)u + lane;
      if (pair < $(D/2)u) {
        store_output(at$h * 2u + pair, select(vec2<f32>(0.0), o$h[entry(i)] * share$h, length > 0u));
      }
    }
  }
  //#endfor
}
