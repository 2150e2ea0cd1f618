// After a token was drawn for every slot: records it, moves the slots on, and prepares the next step's
// cache rows and lengths. A slot is active while remaining > 0.

struct Params {
  slots: u32,
  maxPages: u32,  // entries of a slot's row in the page table
  stepInWindow: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> tokens: array<u32>;
@group(0) @binding(2) var<storage, read> logProbs: array<f32>;
@group(0) @binding(3) var<storage, read> pageTable: array<u32>;
// For each slot where its stop tokens begin and end in this same array.
@group(0) @binding(4) var<storage, read> stops: array<u32>;
@group(0) @binding(5) var<storage, read_write> positions: array<u32>;
@group(0) @binding(6) var<storage, read_write> remaining: array<u32>;
// The token, and the bits of its log-prob.
@group(0) @binding(7) var<storage, read_write> window: array<vec2<u32>>;
@group(0) @binding(8) var<storage, read_write> keyRows: array<u32>;
@group(0) @binding(9) var<storage, read_write> lengths: array<u32>;

const none = 0xffffffffu;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  let slot = id.x;
  if (slot >= params.slots) {
    return;
  }
  let output = params.stepInWindow * params.slots + slot;
  let left = remaining[slot];
  if (left == 0u) {
    window[output] = vec2<u32>(none, 0u);
    keyRows[slot] = none;
    lengths[slot] = 0u;
    return;
  }
  let token = tokens[slot];
  let position = positions[slot] + 1u;
  window[output] = vec2<u32>(token, bitcast<u32>(logProbs[slot]));
  positions[slot] = position;
  let page = position / $(PAGE)u;
  var stopped = false;
  for (var i = stops[2u * slot]; i < stops[2u * slot + 1u]; i++) {
    stopped = stopped || token == stops[i];
  }
  if (stopped || left == 1u || page >= params.maxPages) {
    remaining[slot] = 0u;
    keyRows[slot] = none;
    lengths[slot] = 0u;
  } else {
    remaining[slot] = left - 1u;
    keyRows[slot] = pageTable[slot * params.maxPages + page] * $(PAGE)u + position % $(PAGE)u;
    lengths[slot] = position + 1u;
  }
}
