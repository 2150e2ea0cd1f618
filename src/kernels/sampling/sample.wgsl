// Draws one token per slot, by the inverse of the distribution's cumulated masses in ascending token order, and moves
// the slot on (advance_slot.wgsl).
//
// log_softmax.wgsl left (m, s) of every block of 1024 columns. Merged in its order they give the log-sum-exp that
// training has. The mass of a block is s * 2^((m - peak) * scale); the masses of the segments and tokens of the one
// block that is drawn are computed again as they were summed. Where rounding leaves nothing to exceed, the last one that
// has a mass is drawn.
//
//   FILTERED   some slot asks for top-p, min-p or, with TOP_K, top-k (sample_filters.wgsl); the others draw as ever
//   LANES 1    a lane per slot (lanes of a CPU core): neighbours take the same way, which any slot may need,
//              and each keeps what its own settings ask for
//   LANES 128  a workgroup per slot
// Both values of LANES give the same bits.
//   REACHES    page tables of layers that look back differently far; a slot has a row of the cache in each

//#include philox

struct Params {
  slots: u32,
  columns: u32,       // of the vocabulary
  stride: u32,        // elements from one row to the next
  stateStride: u32,   // elements from one field of the state to the next
  maxPages: u32,      // entries of a slot's row in the page table
  stepInWindow: u32,
  //#if REACHES > 1
  tableStride: u32,   // words from one reach's page table to the next
  //#endif
  //#if FILTERED
  topP: u32,          // whether any slot has one; read with LANES 1 only
  //#endif
}

// Settings of a slot's request.
struct Settings {
  greedy: u32,   // 1: the likeliest token, the lowest of those that tie
  topK: u32,     // 0: off; read with TOP_K only
  topP: f32,     // 1: off
  minP: f32,     // 0: off
  seedLow: u32,
  seedHigh: u32,
  stream: u32,
  step: u32,
  sequence: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> logits: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> blocks: array<vec2<f32>>;
@group(0) @binding(3) var<storage, read> settings: array<Settings>;
@group(0) @binding(4) var<storage, read> scales: array<vec2<f32>>;
@group(0) @binding(5) var<storage, read> pageTable: array<u32>;
// For each slot where its stop tokens begin and end in this same array.
@group(0) @binding(6) var<storage, read> stops: array<u32>;
@group(0) @binding(7) var<storage, read_write> state: array<u32>;
// The token, and the bits of its log-prob.
@group(0) @binding(8) var<storage, read_write> window: array<vec2<u32>>;

// The slot's factor of the exponents of 2.
var<private> scale: f32;
// The slot's largest logit.
var<private> peak: f32;

//#include softmax_statistics

//#include advance_slot

fn load(slot: u32, vector: u32) -> vec4<f32> {
  return logits[slot * (params.stride / 4u) + vector];
}

fn logitOf(slot: u32, token: u32) -> f32 {
  return load(slot, token / 4u)[token % 4u];
}

fn segmentsOfRow() -> u32 {
  return (params.columns + 31u) / 32u;
}

// One past a block's last segment, and a segment's last vector. Bounds that drivers cannot count keep them from
// unrolling the loops, which costs seconds of compilation.
fn endOfBlock(block: u32) -> u32 {
  return min(block * 32u + 32u, segmentsOfRow());
}

fn endOf(segment: u32) -> u32 {
  return min(segment * 8u + 8u, (params.columns + 3u) / 4u);
}

fn blocksOfRow() -> u32 {
  return (params.columns + 1023u) / 1024u;
}

fn massOfBlock(slot: u32, block: u32) -> f32 {
  let statistics = blocks[slot * blocksOfRow() + block];
  return statistics.y * exp2((statistics.x - peak) * scale);
}

// 2^((logit - m) * scale) of four tokens.
fn massesOfVector(slot: u32, vector: u32, m: f32) -> vec4<f32> {
  let column = vector * 4u + vec4<u32>(0u, 1u, 2u, 3u);
  let x = select(load(slot, vector), vec4<f32>(lowest), column >= vec4<u32>(params.columns));
  return exp2((x - m) * scale);
}

// The mass of a segment, summed as log_softmax.wgsl sums it.
fn massOfSegment(slot: u32, segment: u32, m: f32) -> f32 {
  var sum = vec4<f32>(0.0);
  for (var vector = segment * 8u; vector < endOf(segment); vector++) {
    sum += massesOfVector(slot, vector, m);
  }
  return (sum.x + sum.y) + (sum.z + sum.w);
}

// The first token of a segment that has the largest logit; one beyond the vocabulary if none has.
fn firstPeak(slot: u32, segment: u32) -> u32 {
  var found = none;
  for (var vector = segment * 8u; vector < endOf(segment); vector++) {
    let x = load(slot, vector);
    //#for c 0 4
    let token$c = vector * 4u + $(c)u;
    found = select(found, min(found, token$c), x[$c] == peak && token$c < params.columns);
    //#endfor
  }
  return found;
}

//#if LANES > 1
var<workgroup> blockMasses: array<f32, $(MAX_BLOCKS)>;
var<workgroup> segmentMasses: array<f32, 32>;
var<workgroup> segmentPeaks: array<u32, 32>;
//#endif

// The likeliest token, the lowest of those that tie.
fn likeliestToken(slot: u32, lane: u32) -> u32 {
  var block = 0u;
  while (block + 1u < blocksOfRow() && blocks[slot * blocksOfRow() + block].x != peak) {
    block++;
  }
  var found = none;
  //#if LANES > 1
  if (lane < 32u) {
    segmentPeaks[lane] = firstPeak(slot, block * 32u + lane);
  }
  workgroupBarrier();
  for (var s = block * 32u; s < endOfBlock(block); s++) {
    found = min(found, segmentPeaks[s % 32u]);
  }
  //#else
  for (var s = block * 32u; s < endOfBlock(block); s++) {
    found = min(found, firstPeak(slot, s));
  }
  //#endif
  // Only logits that are not numbers have no largest.
  return select(found, 0u, found == none);
}

// The token at which the cumulated masses exceed a share of their sum.
fn draw(slot: u32, lane: u32, share: f32) -> u32 {
  let count = blocksOfRow();
  //#if LANES > 1
  for (var block = lane; block < count; block += 128u) {
    blockMasses[block] = massOfBlock(slot, block);
  }
  workgroupBarrier();
  //#endif
  var total = 0.0;
  for (var block = 0u; block < count; block++) {
    //#if LANES > 1
    total += blockMasses[block];
    //#else
    total += massOfBlock(slot, block);
    //#endif
  }
  let goal = share * total;
  var before = 0.0;
  var sum = 0.0;
  var block = 0u;
  for (var i = 0u; i < count; i++) {
    //#if LANES > 1
    let mass = blockMasses[i];
    //#else
    let mass = massOfBlock(slot, i);
    //#endif
    if (mass > 0.0) {
      block = i;
      before = sum;
    }
    sum += mass;
    if (sum > goal) { break; }
  }

  let m = blocks[slot * count + block].x;
  let weight = exp2((m - peak) * scale);
  //#if LANES > 1
  if (lane < 32u) {
    segmentMasses[lane] = massOfSegment(slot, block * 32u + lane, m);
  }
  workgroupBarrier();
  //#endif
  var inBlock = 0.0;
  var segment = block * 32u;
  sum = 0.0;
  for (var s = segment; s < endOfBlock(block); s++) {
    //#if LANES > 1
    let mass = segmentMasses[s % 32u];
    //#else
    let mass = massOfSegment(slot, s, m);
    //#endif
    if (mass > 0.0) {
      segment = s;
      inBlock = sum;
    }
    sum += mass;
    if (fma(weight, sum, before) > goal) { break; }
  }

  var token = segment * 32u;
  sum = 0.0;
  var found = false;
  for (var vector = segment * 8u; vector < endOf(segment) && !found; vector++) {
    let masses = massesOfVector(slot, vector, m);
    //#for c 0 4
    token = select(token, vector * 4u + $(c)u, masses[$c] > 0.0 && !found);
    sum += masses[$c];
    found = found || fma(weight, inBlock + sum, before) > goal;
    //#endfor
  }
  return token;
}

//#if FILTERED
//#include sample_filters

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
  scale = scales[slot].y;
  var running = vec4<f32>(lowest, 0.0, 0.0, 0.0);
  for (var block = 0u; block < blocksOfRow(); block++) {
    let statistics = blocks[slot * blocksOfRow() + block];
    running = merge(running, statistics.x, statistics.y, 0.0, scale);
  }
  peak = running.x;
  var token = 0u;
  if (settings[slot].greedy == 1u) {
    token = likeliestToken(slot, lane);
  } else {
    // The token drawn has the next position.
    let counter = vec4<u32>(
      stateOf(position, slot) + 1u, settings[slot].sequence, settings[slot].step, settings[slot].seedHigh);
    let share = philoxUniform(counter, vec2<u32>(settings[slot].seedLow, settings[slot].stream));
    //#if FILTERED
    if (settings[slot].topK > 0u || settings[slot].topP < 1.0 || settings[slot].minP > 0.0) {
      let drawn = drawFiltered(slot, lane, share);
      token = select(drawn, 0u, drawn >= params.columns);
    } else {
      token = draw(slot, lane, share);
    }
    //#else
    token = draw(slot, lane, share);
    //#endif
  }
  if (lane == 0u) {
    // The expression of log_softmax_finish.wgsl.
    let inverseTemperature = scales[slot].x;
    let logSumExp = logSumExpOf(running, inverseTemperature);
    advance(slot, token, fma(logitOf(slot, token), inverseTemperature, -logSumExp));
  }
}
