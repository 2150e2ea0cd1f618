// The fields of `state`, in the order of decode_slots.ts. A slot is active while some tokens remain. REACHES: how many page
// tables and rows of the cache a slot has; the page tables follow one another, tableStride words apart.
const lastToken = 0u;
const position = 1u;
const remaining = 2u;
const keyRow = 3u;
const keys = 4u;
const none = 0xffffffffu;

fn stateOf(field: u32, slot: u32) -> u32 {
  return state[field * params.stateStride + slot];
}

fn setState(field: u32, slot: u32, value: u32) {
  state[field * params.stateStride + slot] = value;
}

// After a token was drawn for a slot: records it, moves the slot on, and prepares the next step's cache row and length.
fn advance(slot: u32, token: u32, logProb: f32) {
  let output = params.stepInWindow * params.slots + slot;
  let left = stateOf(remaining, slot);
  if (left == 0u) {
    window[output] = vec2<u32>(none, 0u);
    setState(keyRow, slot, none);
    //#for r 1 REACHES
    setState($(4+r)u, slot, none);
    //#endfor
    setState(keys, slot, 0u);
    return;
  }
  let next = stateOf(position, slot) + 1u;
  window[output] = vec2<u32>(token, bitcast<u32>(logProb));
  setState(lastToken, slot, token);
  setState(position, slot, next);
  let page = next / $(PAGE)u;
  var stopped = false;
  for (var i = stops[2u * slot]; i < stops[2u * slot + 1u]; i++) {
    stopped = stopped || token == stops[i];
  }
  if (stopped || left == 1u || page >= params.maxPages) {
    setState(remaining, slot, 0u);
    setState(keyRow, slot, none);
    //#for r 1 REACHES
    setState($(4+r)u, slot, none);
    //#endfor
    setState(keys, slot, 0u);
  } else {
    setState(remaining, slot, left - 1u);
    setState(keyRow, slot, pageTable[slot * params.maxPages + page] * $(PAGE)u + next % $(PAGE)u);
    //#for r 1 REACHES
    setState($(4+r)u, slot, pageTable[$(r)u * params.tableStride + slot * params.maxPages + page] * $(PAGE)u + next % $(PAGE)u);
    //#endfor
    setState(keys, slot, next + 1u);
  }
}
