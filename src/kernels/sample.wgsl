// Draws one token per slot.
//
// Filters are thresholds on the logits' order, found without sorting: a logit becomes a u32 key with
// the same order, and the threshold is built two bits at a time as the largest key t for which
//   top-k: at least k tokens have key >= t          top-p: their mass is at least topP of the mass
//                                                          that top-k kept
// so tokens that tie with the last one kept are kept too. min-p then drops tokens less likely than minP
// times the likeliest. A token is drawn from the rest by inverse CDF, in ascending token order.
//
// Masses are exp((logit - max) * inverseTemperature), added in one fixed order: tokens of a segment
// (32), segments of a block (1024), blocks. The search adds the same numbers in the same order, so it
// always ends inside. Both values of LANES give the same bits.
//
//   TOP_K false  leaves out top-k, which no slot asks for
//   LANES 1    a lane per slot (lanes of a CPU core): neighbours take the same way, which any slot may need,
//              and each keeps what its own settings ask for
//   LANES 128  a workgroup per slot, a lane per segment, four blocks at a time

//#include philox
//#include logit_order

struct Params {
  slots: u32,
  columns: u32,  // of the vocabulary
  stride: u32,   // elements from one row to the next
  draws: u32,    // whether any slot draws, and has a top-p; read with LANES 1 only
  topP: u32,
}

// What a slot's request asks for.
struct Settings {
  greedy: u32,   // 1: the likeliest token, the lowest of those that tie
  topK: u32,     // 0: off; read with TOP_K only
  topP: f32,     // 1: off
  minP: f32,     // 0: off
  seedLow: u32,
  seedHigh: u32,
  stream: u32,
  step: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> logits: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> logSumExp: array<f32>;
@group(0) @binding(3) var<storage, read> sequenceIds: array<u32>;
@group(0) @binding(4) var<storage, read> positions: array<u32>;
@group(0) @binding(5) var<storage, read_write> tokens: array<u32>;
@group(0) @binding(6) var<storage, read_write> logProbs: array<f32>;
@group(0) @binding(7) var<storage, read> settings: array<Settings>;
@group(0) @binding(8) var<storage, read> inverseTemperature: array<f32>;

// Of the slot.
var<private> scale: f32;
// Of the likeliest token.
var<private> peak: f32;
var<private> peakKey: u32;

fn logitOf(slot: u32, token: u32) -> f32 {
  return logits[slot * (params.stride / 4u) + token / 4u][token % 4u];
}

fn load(slot: u32, vector: u32) -> vec4<f32> {
  return logits[slot * (params.stride / 4u) + vector];
}

// One past a segment's last vector. A bound that drivers cannot count keeps them from unrolling the
// loops over a segment, which costs seconds of compilation.
fn endOf(segment: u32) -> u32 {
  return min(segment * 8u + 8u, (params.columns + 3u) / 4u);
}

// Masses of four tokens; 0 for those below `minimum` times the likeliest.
fn massesOf(x: vec4<f32>, keys: vec4<u32>, minimum: f32) -> vec4<f32> {
  let e = exp((x - peak) * scale);
  let kept = (e >= vec4<f32>(minimum)) | (keys == vec4<u32>(peakKey));
  return select(vec4<f32>(0.0), e, kept);
}

// Mass of a segment's tokens at or above each of three thresholds (at least 1).
fn segmentMass(slot: u32, segment: u32, thresholds: vec3<u32>, minimum: f32) -> vec3<f32> {
  var mass = vec3<f32>(0.0);
  for (var vector = segment * 8u; vector < endOf(segment); vector++) {
    let x = load(slot, vector);
    let keys = keysOf(x, vector, params.columns);
    let masses = massesOf(x, keys, minimum);
    //#for c 0 4
    mass += select(vec3<f32>(0.0), vec3<f32>(masses[$c]), vec3<u32>(keys[$c]) >= thresholds);
    //#endfor
  }
  return mass;
}

//#if TOP_K
// Number of a segment's tokens at or above each of three thresholds (at least 1).
fn segmentCount(slot: u32, segment: u32, thresholds: vec3<u32>) -> vec3<u32> {
  var count = vec3<u32>(0u);
  for (var vector = segment * 8u; vector < endOf(segment); vector++) {
    let keys = keysOf(load(slot, vector), vector, params.columns);
    //#for c 0 4
    count += select(vec3<u32>(0u), vec3<u32>(1u), vec3<u32>(keys[$c]) >= thresholds);
    //#endfor
  }
  return count;
}

//#endif
// (key, token) of a segment's likeliest token, the first of those that tie.
fn segmentPeak(slot: u32, segment: u32) -> vec2<u32> {
  var best = vec2<u32>(0u);
  for (var vector = segment * 8u; vector < endOf(segment); vector++) {
    let keys = keysOf(load(slot, vector), vector, params.columns);
    //#for c 0 4
    if (keys[$c] > best.x) {
      best = vec2<u32>(keys[$c], vector * 4u + $(c)u);
    }
    //#endfor
  }
  return best;
}

fn segmentsOfRow() -> u32 {
  return (params.columns + 31u) / 32u;
}

fn blocksOfRow() -> u32 {
  return (params.columns + 1023u) / 1024u;
}

// The token at which the running mass of a segment passes `goal`; the masses before it are nested as
// they were summed.
fn searchSegment(
  slot: u32, segment: u32, threshold: u32, minimum: f32, before: f32, inBlock: f32, goal: f32,
) -> u32 {
  var inSegment = 0.0;
  for (var vector = segment * 8u; vector < endOf(segment); vector++) {
    let x = load(slot, vector);
    let keys = keysOf(x, vector, params.columns);
    let masses = massesOf(x, keys, minimum);
    //#for c 0 4
    inSegment += select(0.0, masses[$c], keys[$c] >= threshold);
    if (before + (inBlock + inSegment) > goal) {
      return vector * 4u + $(c)u;
    }
    //#endfor
  }
  return 0xffffffffu;
}

//#if LANES == 1
fn blockMass(slot: u32, block: u32, thresholds: vec3<u32>, minimum: f32) -> vec3<f32> {
  var mass = vec3<f32>(0.0);
  for (var s = block * 32u; s < min(block * 32u + 32u, segmentsOfRow()); s++) {
    mass += segmentMass(slot, s, thresholds, minimum);
  }
  return mass;
}

fn rowMass(slot: u32, lane: u32, thresholds: vec3<u32>, minimum: f32) -> vec3<f32> {
  var mass = vec3<f32>(0.0);
  for (var block = 0u; block < blocksOfRow(); block++) {
    mass += blockMass(slot, block, thresholds, minimum);
  }
  return mass;
}

//#if TOP_K
fn rowCount(slot: u32, lane: u32, thresholds: vec3<u32>) -> vec3<u32> {
  var count = vec3<u32>(0u);
  for (var s = 0u; s < segmentsOfRow(); s++) {
    count += segmentCount(slot, s, thresholds);
  }
  return count;
}

//#endif
fn rowPeak(slot: u32, lane: u32) -> vec2<u32> {
  var best = vec2<u32>(0u);
  for (var s = 0u; s < segmentsOfRow(); s++) {
    let found = segmentPeak(slot, s);
    best = select(best, found, found.x > best.x);
  }
  return best;
}

fn search(slot: u32, lane: u32, threshold: u32, minimum: f32, goal: f32) -> u32 {
  var before = 0.0;
  var block = 0u;
  for (; block < blocksOfRow(); block++) {
    let mass = blockMass(slot, block, vec3<u32>(threshold), minimum).x;
    if (before + mass > goal) {
      break;
    }
    before += mass;
  }
  var inBlock = 0.0;
  var segment = block * 32u;
  for (; segment < segmentsOfRow(); segment++) {
    let mass = segmentMass(slot, segment, vec3<u32>(threshold), minimum).x;
    if (before + (inBlock + mass) > goal) {
      break;
    }
    inBlock += mass;
  }
  return searchSegment(slot, segment, threshold, minimum, before, inBlock, goal);
}
//#else
var<workgroup> segmentMasses: array<vec3<f32>, 128>;
var<workgroup> blockMasses: array<vec3<f32>, $(MAX_BLOCKS)>;
var<workgroup> segmentPeaks: array<vec2<u32>, 128>;
//#if TOP_K
var<workgroup> counts: array<atomic<u32>, 3>;
//#endif

// Leaves the masses of the blocks in blockMasses.
fn rowMass(slot: u32, lane: u32, thresholds: vec3<u32>, minimum: f32) -> vec3<f32> {
  workgroupBarrier();
  for (var first = 0u; first < blocksOfRow(); first += 4u) {
    segmentMasses[lane] = segmentMass(slot, first * 32u + lane, thresholds, minimum);
    workgroupBarrier();
    if (lane % 32u == 0u) {
      var mass = vec3<f32>(0.0);
      for (var i = lane; i < lane + 32u; i++) {
        mass += segmentMasses[i];
      }
      blockMasses[first + lane / 32u] = mass;
    }
    workgroupBarrier();
  }
  var mass = vec3<f32>(0.0);
  for (var block = 0u; block < blocksOfRow(); block++) {
    mass += blockMasses[block];
  }
  return mass;
}

//#if TOP_K
fn rowCount(slot: u32, lane: u32, thresholds: vec3<u32>) -> vec3<u32> {
  workgroupBarrier();
  if (lane < 3u) {
    atomicStore(&counts[lane], 0u);
  }
  workgroupBarrier();
  var count = vec3<u32>(0u);
  for (var s = lane; s < segmentsOfRow(); s += 128u) {
    count += segmentCount(slot, s, thresholds);
  }
  //#for c 0 3
  atomicAdd(&counts[$c], count[$c]);
  //#endfor
  workgroupBarrier();
  return vec3<u32>(atomicLoad(&counts[0]), atomicLoad(&counts[1]), atomicLoad(&counts[2]));
}

//#endif
fn rowPeak(slot: u32, lane: u32) -> vec2<u32> {
  var own = vec2<u32>(0u);
  for (var s = lane; s < segmentsOfRow(); s += 128u) {
    let found = segmentPeak(slot, s);
    own = select(own, found, found.x > own.x);
  }
  segmentPeaks[lane] = own;
  workgroupBarrier();
  var best = vec2<u32>(0u);
  for (var i = 0u; i < 128u; i++) {
    let found = segmentPeaks[i];
    best = select(best, found, found.x > best.x || (found.x == best.x && found.y < best.y));
  }
  return best;
}

// Follows a rowMass with the same threshold.
fn search(slot: u32, lane: u32, threshold: u32, minimum: f32, goal: f32) -> u32 {
  var before = 0.0;
  var block = 0u;
  for (; block < blocksOfRow(); block++) {
    let mass = blockMasses[block].x;
    if (before + mass > goal) {
      break;
    }
    before += mass;
  }
  let firstSegment = block * 32u;
  if (lane < 32u) {
    segmentMasses[lane] = segmentMass(slot, firstSegment + lane, vec3<u32>(threshold), minimum);
  }
  workgroupBarrier();
  var inBlock = 0.0;
  var s = 0u;
  for (; s < 32u; s++) {
    let mass = segmentMasses[s].x;
    if (before + (inBlock + mass) > goal) {
      break;
    }
    inBlock += mass;
  }
  return searchSegment(slot, firstSegment + s, threshold, minimum, before, inBlock, goal);
}
//#endif

//#if TOP_K
fn topKThreshold(slot: u32, lane: u32, topK: u32) -> u32 {
  var t = 0u;
  for (var digit = 0u; digit < 16u; digit++) {
    let shift = 30u - 2u * digit;
    let candidates = vec3<u32>(t | (1u << shift), t | (2u << shift), t | (3u << shift));
    let enough = rowCount(slot, lane, candidates) >= vec3<u32>(topK);
    t = select(t, candidates.x, enough.x);
    t = select(t, candidates.y, enough.y);
    t = select(t, candidates.z, enough.z);
  }
  return max(t, 1u);
}
//#endif

//#if LANES == 1
@compute @workgroup_size(8)
//#else
@compute @workgroup_size(128)
//#endif
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_id) local: vec3<u32>,
) {
  //#if LANES == 1
  let slot = (group.y * groups.x + group.x) * 8u + local.x;
  let lane = 0u;
  //#else
  let slot = group.y * groups.x + group.x;
  let lane = local.x;
  //#endif
  if (slot >= params.slots) {
    return;
  }
  let likeliest = rowPeak(slot, lane);
  var token = likeliest.y;
  scale = inverseTemperature[slot];
  let greedy = settings[slot].greedy == 1u;
  let topP = settings[slot].topP;
  let minP = settings[slot].minP;
  //#if LANES == 1
  let draws = params.draws == 1u;
  let hasTopP = params.topP == 1u;
  //#else
  let draws = !greedy;
  let hasTopP = topP < 1.0;
  //#endif
  if (draws) {
    peakKey = likeliest.x;
    peak = logitOf(slot, likeliest.y);
    var threshold = 1u;
    //#if TOP_K
    let topK = settings[slot].topK;
    threshold = select(1u, topKThreshold(slot, lane, max(topK, 1u)), topK > 0u);
    //#endif
    // One loop, and so one copy of rowMass: pass 0 gives top-p its goal, passes 1 to 16 find its
    // threshold, pass 17 weighs what is kept.
    var mass = 0.0;
    var goal = 0.0;
    var t = 0u;
    for (var pass_index = select(17u, 0u, hasTopP); pass_index < 18u; pass_index++) {
      let last = pass_index == 17u;
      let shift = select(32u - 2u * pass_index, 0u, pass_index == 0u || last);
      let descending = pass_index > 0u && !last;
      threshold = select(threshold, max(threshold, t), last && topP < 1.0);
      let candidates = vec3<u32>(t | (1u << shift), t | (2u << shift), t | (3u << shift));
      let thresholds = select(vec3<u32>(0u), candidates, descending);
      let minimum = select(0.0, minP, last);
      let masses = rowMass(slot, lane, max(thresholds, vec3<u32>(threshold)), minimum);
      let enough = masses >= vec3<f32>(goal);
      t = select(t, candidates.x, descending && enough.x);
      t = select(t, candidates.y, descending && enough.y);
      t = select(t, candidates.z, descending && enough.z);
      goal = select(goal, topP * masses.x, pass_index == 0u);
      mass = masses.x;
    }
    // The token drawn has the next position.
    let counter = vec4<u32>(
      positions[slot] + 1u, sequenceIds[slot], settings[slot].step, settings[slot].seedHigh);
    let key = vec2<u32>(settings[slot].seedLow, settings[slot].stream);
    let drawn = search(slot, lane, threshold, minP, philoxUniform(counter, key) * mass);
    // Only logits that are not numbers leave the search without a token.
    token = select(drawn, token, greedy || drawn >= params.columns);
  }
  if (lane == 0u) {
    tokens[slot] = token;
    logProbs[slot] = fma(logitOf(slot, token), scale, -logSumExp[slot]);
  }
}
