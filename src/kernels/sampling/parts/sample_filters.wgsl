// Draws from what top-k, top-p and min-p keep.
//
// Filters are thresholds on the logits' order, found without sorting: a logit becomes a u32 key with the same order,
// and the threshold is built two bits at a time as the largest key t for which
//   top-k: at least k tokens have key >= t          top-p: their mass is at least topP of the mass
//                                                          that top-k kept
// so tokens that tie with the last one kept are kept too. min-p then drops tokens less likely than minP times the
// likeliest.
//
// Masses are 2^((logit - peak) * scale), added in one fixed order: tokens of a segment (32), segments of a block
// (1024), blocks. The search adds the same numbers in the same order, so it always ends
// inside.

//#include logit_order

// Key of the likeliest token.
var<private> peakKey: u32;

// Masses of four tokens; 0 for those below `minimum` times the likeliest.
fn massesOf(x: vec4<f32>, keys: vec4<u32>, minimum: f32) -> vec4<f32> {
  let e = exp2((x - peak) * scale);
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
var<workgroup> segmentSums: array<vec3<f32>, 128>;
var<workgroup> blockSums: array<vec3<f32>, $(MAX_BLOCKS)>;
//#if TOP_K
var<workgroup> counts: array<atomic<u32>, 3>;
//#endif

// Leaves the masses of the blocks in blockSums.
fn rowMass(slot: u32, lane: u32, thresholds: vec3<u32>, minimum: f32) -> vec3<f32> {
  workgroupBarrier();
  for (var first = 0u; first < blocksOfRow(); first += 4u) {
    segmentSums[lane] = segmentMass(slot, first * 32u + lane, thresholds, minimum);
    workgroupBarrier();
    if (lane % 32u == 0u) {
      var mass = vec3<f32>(0.0);
      for (var i = lane; i < lane + 32u; i++) {
        mass += segmentSums[i];
      }
      blockSums[first + lane / 32u] = mass;
    }
    workgroupBarrier();
  }
  var mass = vec3<f32>(0.0);
  for (var block = 0u; block < blocksOfRow(); block++) {
    mass += blockSums[block];
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
// Follows a rowMass with the same threshold.
fn search(slot: u32, lane: u32, threshold: u32, minimum: f32, goal: f32) -> u32 {
  var before = 0.0;
  var block = 0u;
  for (; block < blocksOfRow(); block++) {
    let mass = blockSums[block].x;
    if (before + mass > goal) {
      break;
    }
    before += mass;
  }
  let firstSegment = block * 32u;
  if (lane < 32u) {
    segmentSums[lane] = segmentMass(slot, firstSegment + lane, vec3<u32>(threshold), minimum);
  }
  workgroupBarrier();
  var inBlock = 0.0;
  var s = 0u;
  for (; s < 32u; s++) {
    let mass = segmentSums[s].x;
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

// A token of a slot; beyond the vocabulary where logits are no numbers.
fn drawFiltered(slot: u32, lane: u32, share: f32) -> u32 {
  peakKey = keysOf(vec4<f32>(peak), 0u, 1u).x;
  let topP = settings[slot].topP;
  let minP = settings[slot].minP;
  //#if LANES == 1
  let hasTopP = params.topP == 1u;
  //#else
  let hasTopP = topP < 1.0;
  //#endif
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
  return search(slot, lane, threshold, minP, share * mass);
}
