// The running softmax statistics of each row over one chunk of the vocabulary.
//
// state[row] = (m, s, w, t) over the columns seen so far, z = (logit - m) * inverseTemperature:
//   m = max logit,  s = sum exp(z),  w = sum exp(z) * z,  t = the target's logit
//
// Order of the sums, the same for both values of LANES and whatever the chunk or the batch: 32 columns
// make a segment, 32 segments a block of 1024 columns anchored at column 0 of the vocabulary. In a
// block all terms refer to its own maximum; vectors, then segments, are added in ascending order; then
// blocks are merged in ascending order. Chunks begin at whole blocks.
//
//   LANES 1    a lane per row (lanes of a CPU core)
//   LANES 128  a workgroup per row, a lane per segment, four blocks at a time
//   PER_ROW    every row has an inverse temperature of its own

struct Params {
  rows: u32,
  columns: u32,      // of this chunk
  stride: u32,       // elements from one row to the next
  firstColumn: u32,  // of this chunk in the vocabulary; 0 starts the state
  //#if !PER_ROW
  inverseTemperature: f32,
  //#endif
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> logits: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> targets: array<u32>;
@group(0) @binding(3) var<storage, read_write> state: array<vec4<f32>>;
//#if PER_ROW
@group(0) @binding(4) var<storage, read> inverseTemperature: array<f32>;
//#endif

// Below any logit, and still finite after the scaling.
const lowest = -1.0e30;

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

fn scaleOf(row: u32) -> f32 {
  //#if PER_ROW
  return inverseTemperature[row];
  //#else
  return params.inverseTemperature;
  //#endif
}

fn merge(running: vec4<f32>, m: f32, s: f32, w: f32, scale: f32) -> vec4<f32> {
  let top = max(running.x, m);
  let z0 = (running.x - top) * scale;
  let z1 = (m - top) * scale;
  let e0 = exp(z0);
  let e1 = exp(z1);
  let w0 = fma(z0, running.y, running.z);
  let w1 = fma(z1, s, w);
  return vec4<f32>(top, fma(e0, running.y, e1 * s), fma(e0, w0, e1 * w1), running.w);
}

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

//#if LANES == 1
@compute @workgroup_size(8)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_id) local: vec3<u32>,
) {
  let row = (group.y * groups.x + group.x) * 8u + local.x;
  if (row >= params.rows) {
    return;
  }
  let scale = scaleOf(row);
  var running = start(row);
  let segments = (params.columns + 31u) / 32u;
  for (var first = 0u; first < segments; first += 32u) {
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
      let e$v = exp(z$v);
      sum += e$v;
      weighted = select(fma(e$v, z$v, weighted), weighted, e$v == vec4<f32>(0.0));
      //#endfor
      s += total(sum);
      w += total(weighted);
    }
    running = merge(running, m, s, w, scale);
  }
  finish(row, running);
}
//#else
var<workgroup> peaks: array<f32, 128>;
var<workgroup> segmentSums: array<vec2<f32>, 128>;
var<workgroup> blocks: array<vec3<f32>, 4>;

@compute @workgroup_size(128)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_id) local: vec3<u32>,
) {
  let row = group.y * groups.x + group.x;
  if (row >= params.rows) {
    return;
  }
  let lane = local.x;
  let block = lane / 32u;
  let scale = scaleOf(row);
  var running = start(row);
  let blockCount = (params.columns + 1023u) / 1024u;
  for (var first = 0u; first < blockCount; first += 4u) {
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
    let e$v = exp(z$v);
    sum += e$v;
    weighted = select(fma(e$v, z$v, weighted), weighted, e$v == vec4<f32>(0.0));
    //#endfor
    segmentSums[lane] = vec2<f32>(total(sum), total(weighted));
    workgroupBarrier();
    if (lane % 32u == 0u) {
      var blockSums = vec2<f32>(0.0);
      for (var i = 0u; i < 32u; i++) {
        blockSums += segmentSums[lane + i];
      }
      blocks[block] = vec3<f32>(m, blockSums);
    }
    workgroupBarrier();
    if (lane == 0u) {
      for (var i = 0u; i < min(4u, blockCount - first); i++) {
        running = merge(running, blocks[i].x, blocks[i].y, blocks[i].z, scale);
      }
    }
  }
  if (lane == 0u) {
    finish(row, running);
  }
}
//#endif
