// The running softmax statistics of each row over one chunk of the vocabulary.
//
// state[row] = (m, s, w, t) over the columns seen so far, z = (logit - m) * log2 e / temperature:
//   m = max logit,  s = sum 2^z,  w = sum 2^z * z,  t = the target's logit
//
// Order of the sums, the same for both values of LANES and whatever the chunk or the batch: 32 columns
// make a segment, 32 segments a block of 1024 columns anchored at column 0 of the vocabulary. In a
// block all terms refer to its own maximum; vectors, then segments, are added in ascending order; then
// blocks are merged in ascending order. Chunks begin at whole blocks.
//
//   LANES 1    a lane per row (lanes of a CPU core)
//   LANES 128  a workgroup per row, a lane per segment, four blocks at a time
//   PER_ROW    every row has scales of its own
//   BLOCKS     nothing is merged: (m, s) of every block goes to `blocks`, for kernels that take all columns at once, and
//              the blocks of a row are computed side by side

struct Params {
  rows: u32,
  columns: u32,      // of this chunk
  stride: u32,       // elements from one row to the next
  //#if !BLOCKS
  firstColumn: u32,  // of this chunk in the vocabulary; 0 starts the state
  //#endif
  //#if !PER_ROW
  exponentScale: f32,  // log2 e / temperature
  //#endif
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> logits: array<vec4<f32>>;
//#if BLOCKS
@group(0) @binding(2) var<storage, read_write> blocks: array<vec2<f32>>;
//#else
@group(0) @binding(2) var<storage, read> targets: array<u32>;
@group(0) @binding(3) var<storage, read_write> state: array<vec4<f32>>;
//#endif
//#if PER_ROW
@group(0) @binding(4) var<storage, read> scales: array<vec2<f32>>;
//#endif

//#include softmax_statistics

// Four logits of a row; those beyond the chunk's columns count as none.
fn load(row: u32, vector: u32) -> vec4<f32> {
  let vectors = params.stride / 4u;
  let x = logits[row * vectors + min(vector, vectors - 1u)];
  let column = vector * 4u + vec4<u32>(0u, 1u, 2u, 3u);
  return select(x, vec4<f32>(lowest), column >= vec4<u32>(params.columns));
}

fn maximum(x: vec4<f32>) -> f32 {
  return max(max(x.x, x.y), max(x.z, x.w));
}

fn total(x: vec4<f32>) -> f32 {
  return (x.x + x.y) + (x.z + x.w);
}

// Factor of the exponents of 2.
fn scaleOf(row: u32) -> f32 {
  //#if PER_ROW
  return scales[row].y;
  //#else
  return params.exponentScale;
  //#endif
}

//#if !BLOCKS
fn start(row: u32) -> vec4<f32> {
  return select(vec4<f32>(lowest, 0.0, 0.0, 0.0), state[row], params.firstColumn > 0u);
}

fn finish(row: u32, running: vec4<f32>) {
  var result = running;
  let column = targets[row] - params.firstColumn;
  if (column < params.columns) {
    result.w = logits[row * (params.stride / 4u) + column / 4u][column % 4u];
  }
  state[row] = result;
}
//#endif

fn blocksOfRow() -> u32 {
  return (params.columns + 1023u) / 1024u;
}

//#if LANES == 1
@compute @workgroup_size(8)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_id) local: vec3<u32>,
) {
  let index = (group.y * groups.x + group.x) * 8u + local.x;
  //#if BLOCKS
  let row = index / blocksOfRow();
  //#else
  let row = index;
  //#endif
  if (row >= params.rows) {
    return;
  }
  let scale = scaleOf(row);
  let segments = (params.columns + 31u) / 32u;
  //#if BLOCKS
  let first = index % blocksOfRow() * 32u;
  {
  //#else
  var running = start(row);
  for (var first = 0u; first < segments; first += 32u) {
  //#endif
    let end = min(first + 32u, segments);
    var peak = vec4<f32>(lowest);
    for (var segment = first; segment < end; segment++) {
      //#for v 0 8
      peak = max(peak, load(row, segment * 8u + $(v)u));
      //#endfor
    }
    let m = maximum(peak);
    var s = 0.0;
    var w = 0.0;
    for (var segment = first; segment < end; segment++) {
      var sum = vec4<f32>(0.0);
      var weighted = vec4<f32>(0.0);
      //#for v 0 8
      let z$v = (load(row, segment * 8u + $(v)u) - m) * scale;
      let e$v = exp2(z$v);
      sum += e$v;
      weighted = select(fma(e$v, z$v, weighted), weighted, e$v == vec4<f32>(0.0));
      //#endfor
      s += total(sum);
      w += total(weighted);
    }
    //#if BLOCKS
    blocks[index] = vec2<f32>(m, s);
    //#else
    running = merge(running, m, s, w, scale);
    //#endif
  }
  //#if !BLOCKS
  finish(row, running);
  //#endif
}
//#else
var<workgroup> peaks: array<f32, 128>;
var<workgroup> segmentSums: array<vec2<f32>, 128>;
//#if !BLOCKS
var<workgroup> blockSums: array<vec3<f32>, 4>;
//#endif

@compute @workgroup_size(128)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_id) local: vec3<u32>,
) {
  let blockCount = blocksOfRow();
  let index = group.y * groups.x + group.x;
  //#if BLOCKS
  let groupsOfRow = (blockCount + 3u) / 4u;
  let row = index / groupsOfRow;
  //#else
  let row = index;
  //#endif
  if (row >= params.rows) {
    return;
  }
  let lane = local.x;
  let block = lane / 32u;
  let scale = scaleOf(row);
  //#if BLOCKS
  let first = index % groupsOfRow * 4u;
  {
  //#else
  var running = start(row);
  for (var first = 0u; first < blockCount; first += 4u) {
  //#endif
    let segment = first * 32u + lane;
    var peak = vec4<f32>(lowest);
    //#for v 0 8
    let x$v = load(row, segment * 8u + $(v)u);
    peak = max(peak, x$v);
    //#endfor
    peaks[lane] = maximum(peak);
    workgroupBarrier();
    var m = lowest;
    for (var i = 0u; i < 32u; i++) {
      m = max(m, peaks[block * 32u + i]);
    }
    var sum = vec4<f32>(0.0);
    var weighted = vec4<f32>(0.0);
    //#for v 0 8
    let z$v = (x$v - m) * scale;
    let e$v = exp2(z$v);
    sum += e$v;
    weighted = select(fma(e$v, z$v, weighted), weighted, e$v == vec4<f32>(0.0));
    //#endfor
    segmentSums[lane] = vec2<f32>(total(sum), total(weighted));
    workgroupBarrier();
    if (lane % 32u == 0u) {
      var sums = vec2<f32>(0.0);
      for (var i = 0u; i < 32u; i++) {
        sums += segmentSums[lane + i];
      }
      //#if BLOCKS
      if (first + block < blockCount) {
        blocks[row * blockCount + first + block] = vec2<f32>(m, sums.x);
      }
      //#else
      blockSums[block] = vec3<f32>(m, sums);
      //#endif
    }
    //#if !BLOCKS
    workgroupBarrier();
    if (lane == 0u) {
      for (var i = 0u; i < min(4u, blockCount - first); i++) {
        running = merge(running, blockSums[i].x, blockSums[i].y, blockSums[i].z, scale);
      }
    }
    //#endif
  }
  //#if !BLOCKS
  if (lane == 0u) {
    finish(row, running);
  }
  //#endif
}
//#endif
