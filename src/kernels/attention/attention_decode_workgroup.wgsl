// attention_decode.wgsl for hardware: the same bits, in the order of attention.wgsl. A workgroup has a slot and $GROUP
// query heads of one key/value head, all of them if they are not too many for its registers (the last one may have
// fewer, and then has its last head several times), and takes a span of $LANES keys (whole blocks of $BLOCK) at a time:
//   1. lane = key: its scores with the heads
//   2. lane = (head, block): the softmax of the block, which leaves p in the scores' place
//   3. lane = (block, four elements of a head): the block's outputs of all heads, $PARTS blocks at a time
//   4. lane = (head, four elements): joins the blocks in ascending order, for $HEADS heads at a time
// SPLIT: a workgroup has one span, and leaves step 4 to attention_decode_join.wgsl: a long context then has as many
// workgroups as it has spans. What the blocks are does not depend on it, nor the order they join in.

struct Params {
  heads: u32,
  kvHeads: u32,
  maxPages: u32,  // entries of one slot's row of the page table
  scale: f32,     // times log2(e)
  steps: u32,     // D / 4 / $SLAB; a constant would make Mesa unroll the loop
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
//#include stored_vectors NAME="cacheValues" BINDING=3
@group(0) @binding(4) var<storage, read> pageTable: array<u32>;
@group(0) @binding(5) var<storage, read> lengths: array<u32>;
//#if SPLIT
@group(0) @binding(6) var<storage, read_write> blockOutputs: array<vec4<f32>>;
@group(0) @binding(7) var<storage, read_write> blockSums: array<vec2<f32>>;
//#else
@group(0) @binding(6) var<storage, read_write> output: array<vec4<f32>>;
//#endif

const chunks = $(D/4)u;
const blocks = $(LANES/BLOCK)u;
const lowest = -3.0e38;

// Vectors of the head: the last of $SLAB that a step of 1 takes, then the step.
var<workgroup> q: array<array<array<vec4<f32>, $(D/4/SLAB)>, $SLAB>, $GROUP>;
// Where the keys' and values' rows begin.
var<workgroup> rows: array<array<u32, $BLOCK>, blocks>;
// Rows of four more than a block has, so that neighbouring lanes of step 2 read from different banks.
var<workgroup> scores: array<array<array<f32, $(BLOCK+4)>, blocks>, $GROUP>;
//#if !SPLIT
// The maximum and the sum of a block.
var<workgroup> blockSums: array<array<vec2<f32>, blocks>, $GROUP>;
var<workgroup> blockOutputs: array<array<vec4<f32>, $LANES>, $HEADS>;
//#endif

//#include counted OF=D/4/SLAB

@compute @workgroup_size($LANES)
fn main(
  @builtin(workgroup_id) workgroup: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  let slot = workgroup.x;
  let group = params.heads / params.kvHeads;
  let shares = (group + $(GROUP-1)u) / $(GROUP)u;
  let kvHead = workgroup.y / shares;
  let member = workgroup.y % shares * $(GROUP)u;
  let firstHead = kvHead * group + member;
  let lastOwn = min($(GROUP)u, group - member) - 1u;
  let length = min(lengths[slot], params.maxPages * $(PAGE)u);
  let at = (slot * params.heads + firstHead) * chunks;
  let part = lane / chunks;
  let chunk = lane % chunks;
  //#if WINDOW
  let firstKey = length - min(params.window, length);
  //#endif
  //#if SPLIT
  let first = workgroup.z * $(LANES)u;
  if (first >= length) { return; }
  //#if WINDOW
  if (first + $(LANES)u <= firstKey) { return; }
  //#endif
  let firstBlock = slot * params.maxPages * $(PAGE/BLOCK)u + workgroup.z * blocks;
  //#endif
  for (var i = lane; i < $(GROUP*D/4)u; i += $(LANES)u) {
    let c = i % chunks;
    q[i / chunks][c % $(SLAB)u][c / $(SLAB)u] = queries[at + min(i / chunks, lastOwn) * chunks + c] * params.scale;
  }
  //#if !SPLIT
  //#for k 0 BATCHES
  //#for r 0 ROUNDS
  var o$(k)_$r = vec4<f32>(0.0);
  var m$(k)_$r = lowest;
  var l$(k)_$r = 0.0;
  //#endfor
  //#endfor

  //#if WINDOW
  for (var first = firstKey / $(BLOCK)u * $(BLOCK)u; first < length; first += $(LANES)u)
  //#else
  for (var first = 0u; first < length; first += $(LANES)u)
  //#endif
  //#endif
  {
    // 1. Keys past the last read the last one, so that only written rows are read. With WINDOW those before the block of the
    // first read that block's first: pages before it may be others' by now.
    //#if WINDOW
    let held = clamp(first + lane, firstKey / $(BLOCK)u * $(BLOCK)u, length - 1u);
    //#else
    let held = min(first + lane, length - 1u);
    //#endif
    let page = pageTable[slot * params.maxPages + held / $(PAGE)u];
    let row = ((page * $(PAGE)u + held % $(PAGE)u) * params.kvHeads + kvHead) * chunks;
    workgroupBarrier();
    rows[lane / $(BLOCK)u][lane % $(BLOCK)u] = row;
    //#for h 0 GROUP
    var s$h = 0.0;
    //#endfor
    for (var step = 0u; step < params.steps; step++) {
      let x = entry(step);
      //#for c 0 SLAB
      let k$c = load_cacheKeys(row + step * $(SLAB)u + $(c)u);
      //#endfor
      //#for c 0 SLAB
      //#for h 0 GROUP
      let x$(c)_$h = q[$h][$c][x];
      //#for e 0 4
      s$h = fma(x$(c)_$h[$e], k$c[$e], s$h);
      //#endfor
      //#endfor
      //#endfor
    }
    //#for h 0 GROUP
    scores[$h][lane / $(BLOCK)u][lane % $(BLOCK)u] = s$h;
    //#endfor
    workgroupBarrier();

    // 2.
    for (var unit = lane; unit < $(GROUP*LANES/BLOCK)u; unit += $(LANES)u) {
      let head = unit / blocks;
      let b = unit % blocks;
      let block = first + b * $(BLOCK)u;
      let count = length - min(block, length);
      //#include attention_skipped
      //#for j 0 BLOCK
      var s$j = scores[head][b][$j];
      //#endfor
      //#include softmax_block OF="" SCORE="s" TERM="p"
      //#for j 0 BLOCK
      scores[head][b][$j] = p$j;
      //#endfor
      //#if SPLIT
      if (count > 0u && head <= lastOwn) {
        blockSums[(firstBlock + b) * params.heads + firstHead + head] = vec2<f32>(blockMax, blockSum);
      }
      //#else
      blockSums[head][b] = vec2<f32>(blockMax, blockSum);
      //#endif
    }
    workgroupBarrier();

    // 3.
    for (var firstPart = 0u; firstPart < blocks && first + firstPart * $(BLOCK)u < length; firstPart += $(PARTS)u) {
      let b = min(firstPart + part, blocks - 1u);
      //#for h 0 GROUP
      var sum$h = vec4<f32>(0.0);
      //#endfor
      //#for j 0 BLOCK
      let v$j = load_cacheValues(rows[b][$j] + chunk);
      //#for h 0 GROUP
      sum$h = fma(vec4<f32>(scores[$h][b][$j]), v$j, sum$h);
      //#endfor
      //#endfor
      //#if SPLIT
      if (part < $(PARTS)u && firstPart + part < blocks && first + b * $(BLOCK)u < length) {
        let to = ((firstBlock + b) * params.heads + firstHead) * chunks + chunk;
        //#for h 0 GROUP
        blockOutputs[to + min($(h)u, lastOwn) * chunks] = sum$h;
        //#endfor
      }
      //#else

      // 4.
      let inSpan = min((length - first + $(BLOCK-1)u) / $(BLOCK)u, blocks);
      let count = min($(PARTS)u, inSpan - firstPart);
      //#for k 0 BATCHES
      workgroupBarrier();
      //#for h 0 HEADS
      //#if k*HEADS+h < GROUP
      blockOutputs[$h][lane] = sum$(k*HEADS+h);
      //#endif
      //#endfor
      workgroupBarrier();
      for (var i = 0u; i < count; i++) {
        //#for r 0 ROUNDS
        {
          let head = min((lane + $(r*LANES)u) / chunks, $(HEADS-1)u);
          let block = blockSums[min($(k*HEADS)u + head, $(GROUP-1)u)][firstPart + i];
          let blockMax = block.x;
          let blockSum = block.y;
          var m = m$(k)_$r;
          var l = l$(k)_$r;
          //#include softmax_join OF=""
          m$(k)_$r = m;
          l$(k)_$r = l;
          let blockOutput = blockOutputs[head][i * chunks + (lane + $(r*LANES)u) % chunks];
          o$(k)_$r = fma(o$(k)_$r, vec4<f32>(keep), blockOutput * add);
        }
        //#endfor
      }
      //#endfor
      //#endif
    }
  }
  //#if !SPLIT
  //#for k 0 BATCHES
  //#for r 0 ROUNDS
  if (lane + $(r*LANES)u < $(HEADS*D/4)u && $(k*HEADS)u + (lane + $(r*LANES)u) / chunks <= lastOwn) {
    let to = at + $(k*HEADS*D/4+r*LANES)u + lane;
    output[to] = select(vec4<f32>(0.0), o$(k)_$r * (1.0 / l$(k)_$r), length > 0u);
  }
  //#endfor
  //#endfor
  //#endif
}
