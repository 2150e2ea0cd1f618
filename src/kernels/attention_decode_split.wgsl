// attention_decode.wgsl with a workgroup for each slot and key/value head, for hardware that needs more lanes
// than slots * heads and reads neighbouring addresses best. The same bits, in the order of attention.wgsl.
//
// A workgroup takes $LANES keys (whole blocks of $BLOCK) at a time:
//   1. lane = key: its scores with the $GROUP heads of the group
//   2. lane = key: the maximum of its block, its p; the block's first lane also sums p in ascending order
//   3. lane = (head, four elements of the output): joins the blocks in ascending order
// A group with more than $LANES outputs takes $ROUNDS rounds of lanes in step 3.

struct Params {
  kvHeads: u32,
  maxPages: u32,  // entries of one slot's row of the page table
  scale: f32,     // times log2(e)
  chunks: u32,    // vectors of one head, D / 4
  block: u32,     // $BLOCK
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> queries: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> cacheKeys: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> cacheValues: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read> pageTable: array<u32>;
@group(0) @binding(5) var<storage, read> lengths: array<u32>;
@group(0) @binding(6) var<storage, read_write> output: array<vec4<f32>>;

const outputs = $(GROUP*D/4)u;
const blocks = $(LANES/BLOCK)u;
const lowest = -3.0e38;

var<workgroup> q: array<vec4<f32>, outputs>;
var<workgroup> rows: array<u32, $LANES>;
var<workgroup> scores: array<f32, $(GROUP*LANES)>;
var<workgroup> blockMaxima: array<f32, $(GROUP*LANES/BLOCK)>;
var<workgroup> blockSums: array<f32, $(GROUP*LANES/BLOCK)>;

@compute @workgroup_size($LANES)
fn main(
  @builtin(workgroup_id) workgroup: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  //#if UNROLL
  let chunks = $(D/4)u;
  let block = $(BLOCK)u;
  //#else
  let chunks = params.chunks;
  let block = params.block;
  //#endif
  let slot = workgroup.x;
  let kvHead = workgroup.y;
  let length = min(lengths[slot], params.maxPages * $(PAGE)u);
  let at = (slot * params.kvHeads + kvHead) * outputs;
  let stride = params.kvHeads * chunks;
  let kvAt = kvHead * chunks;
  for (var i = lane; i < outputs; i += $(LANES)u) { q[i] = queries[at + i] * params.scale; }

  //#for r 0 ROUNDS
  let out$r = min($(r*LANES)u + lane, outputs - 1u);
  var o$r = vec4<f32>(0.0);
  var m$r = lowest;
  var l$r = 0.0;
  //#endfor

  for (var first = 0u; first < length; first += $(LANES)u) {
    // 1. Keys past the last read the last one, so that only written rows are read.
    let key = first + lane;
    let held = min(key, length - 1u);
    let page = pageTable[slot * params.maxPages + held / $(PAGE)u];
    let row = (page * $(PAGE)u + held % $(PAGE)u) * stride + kvAt;
    workgroupBarrier();
    rows[lane] = row;
    //#for h 0 GROUP
    var s$h = 0.0;
    //#endfor
    for (var c = 0u; c < chunks; c++) {
      let k = cacheKeys[row + c];
      //#for h 0 GROUP
      let x$h = q[$(h)u * chunks + c];
      s$h = fma(x$h.x, k.x, s$h);
      s$h = fma(x$h.y, k.y, s$h);
      s$h = fma(x$h.z, k.z, s$h);
      s$h = fma(x$h.w, k.w, s$h);
      //#endfor
    }
    //#for h 0 GROUP
    s$h = select(lowest, s$h, key < length);
    scores[$(h*LANES)u + lane] = s$h;
    //#endfor
    workgroupBarrier();

    // 2.
    let own = lane / $(BLOCK)u;
    //#for h 0 GROUP
    var max$h = lowest;
    for (var j = 0u; j < block; j++) {
      max$h = max(max$h, scores[$(h*LANES)u + own * block + j]);
    }
    let p$h = select(0.0, exp2(s$h - max$h), key < length);
    //#endfor
    workgroupBarrier();
    //#for h 0 GROUP
    scores[$(h*LANES)u + lane] = p$h;
    //#endfor
    workgroupBarrier();
    if (lane % $(BLOCK)u == 0u) {
      //#for h 0 GROUP
      var sum$h = 0.0;
      for (var j = 0u; j < block; j++) { sum$h += scores[$(h*LANES)u + lane + j]; }
      blockSums[$(h)u * blocks + own] = sum$h;
      blockMaxima[$(h)u * blocks + own] = max$h;
      //#endfor
    }
    workgroupBarrier();

    // 3.
    let count = min(blocks, (length - first + $(BLOCK-1)u) / $(BLOCK)u);
    for (var b = 0u; b < count; b++) {
      //#for r 0 ROUNDS
      {
        let head = out$r / chunks;
        let chunk = out$r % chunks;
        var sum = vec4<f32>(0.0);
        for (var j = b * block; j < (b + 1u) * block; j++) {
          sum = fma(vec4<f32>(scores[head * $(LANES)u + j]), cacheValues[rows[j] + chunk], sum);
        }
        let blockMax = blockMaxima[head * blocks + b];
        let newMax = max(m$r, blockMax);
        let keep = exp2(m$r - newMax);
        let add = exp2(blockMax - newMax);
        m$r = newMax;
        l$r = fma(l$r, keep, blockSums[head * blocks + b] * add);
        o$r = fma(o$r, vec4<f32>(keep), sum * add);
      }
      //#endfor
    }
  }
  //#for r 0 ROUNDS
  if ($(r*LANES)u + lane < outputs) {
    output[at + out$r] = select(vec4<f32>(0.0), o$r * (1.0 / l$r), length > 0u);
  }
  //#endfor
}
