// The gradients of queries, keys and decays of delta_rule.wgsl, of each value head, with u of delta_rule_columns.wgsl. A
// lane has one row of the state or of its gradient, whose Dv numbers a sum walks as there its Dk. Given the errors, the
// rows of a state do not need one another, and have the bits of its columns, with which walks begin:
//
//   REVERSED false  S = decay * S;  dk = -strength * (S u);  S = S + k (strength * error)^T;  dq = S dOutput
//   REVERSED true   D = D + q dOutput^T;  dk = dk + strength * (D error);  D = D - k (strength * u)^T
//                   ofDecay = decay * (row of S before the token, row of D);  D = decay * D
//
// the first from the first token to the last, the second back. Walks begin as there. The first keeps the states before
// every token whose row is a multiple of $EVERY, and those that walks begin with; the second makes those between again
// from the last one kept, at most $EVERY - 1 steps. The sum over a head of ofDecay is the gradient of the decay's
// logarithm; taken as a difference of what tokens give and get it would be lost where heads let go quickly.

struct Params {
  walks: u32,
  keyHeads: u32,
  valueHeads: u32,
  blocks: u32,     // of $LANES rows, of a head
  tokens: u32,
  firstChild: u32, // the walk whose gradient is the first of dStates
  chunks: u32,     // states kept before those that walks begin with
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> heads: array<f32>;
@group(0) @binding(2) var<storage, read> rates: array<f32>;
@group(0) @binding(3) var<storage, read> walks: array<Walk>;
//#include stored_vectors NAME="dOutput" BINDING=4 STORAGE="f32"
// The errors [T, Vh, Dv], then u.
//#include stored_vectors NAME="errors" BINDING=5 STORAGE="f32"
// The gradients of queries [T, Vh, Dk], then those of keys, then ofDecay.
@group(0) @binding(6) var<storage, read_write> dHeads: array<f32>;
//#if STATES
// Those that walks begin with, or with REVERSED their gradients.
//#include stored_vectors NAME="states" BINDING=7 STORAGE="f32"
//#endif
//#if REVERSED
//#include stored_vectors NAME="kept" BINDING=8 STORAGE="f32"
//#else
//#include written_vectors NAME="kept" BINDING=8
//#endif

//#include delta_walk

fn keptAt(entry: u32, head: u32, place: u32) -> u32 {
  return ((entry * params.valueHeads + head) * $(DK)u + place) * $(DV/4)u;
}

@compute @workgroup_size($LANES)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  let index = group.y * groups.x + group.x;
  let place = index % params.blocks * $(LANES)u + lane;
  let head = index / params.blocks % params.valueHeads;
  let which = index / params.blocks / params.valueHeads;
  if (which >= params.walks || place >= $(DK)u) { return; }
  let walk = walks[which];
  let keyHead = head / (params.valueHeads / params.keyHeads);
  let row0 = params.keyHeads * $(DK*2)u + params.valueHeads * $(DV)u;
  //#for j 0 DV/4
  var s$j = vec4<f32>(0.0);
  //#endfor
  //#if STATES
  //#if REVERSED
  for (var child = 0u; child < walk.children; child++) {
    let at = (((walk.firstChild + child - params.firstChild) * params.valueHeads + head) * $(DK)u + place) * $(DV/4)u;
    //#for j 0 DV/4
    s$j += load_states(at + $(j)u);
    //#endfor
  }
  //#else
  if (walk.start > 0u) {
    let at = (((walk.start - 1u) * params.valueHeads + head) * $(DK)u + place) * $(DV/4)u;
    let first = keptAt(params.chunks + which - params.firstChild, head, place);
    //#for j 0 DV/4
    s$j = load_states(at + $(j)u);
    store_kept(first + $(j)u, s$j);
    //#endfor
  }
  //#endif
  //#endif
  for (var t = 0u; t < walk.count; t++) {
    //#if REVERSED
    let row = walk.row + walk.count - 1u - t;
    //#else
    let row = walk.row + t;
    //#endif
    let decay = rates[row * 2u * params.valueHeads + head];
    let strength = rates[(row * 2u + 1u) * params.valueHeads + head];
    let query = row * row0 + keyHead * $(DK)u + place;
    let k = heads[query + params.keyHeads * $(DK)u];
    let values = (row * params.valueHeads + head) * $(DV/4)u;
    let slopes = (params.tokens * params.valueHeads) * $(DV/4)u + values;
    let dQuery = (row * params.valueHeads + head) * $(DK)u + place;
    let dKey = dQuery + params.tokens * params.valueHeads * $(DK)u;
    var sums = vec4<f32>(0.0);
    //#if REVERSED
    let q = vec4<f32>(heads[query]);
    let key = vec4<f32>(k);
    // The last row before which a state was kept, or the walk's first.
    let chunk = row / $(EVERY)u * $(EVERY)u;
    let first = max(chunk, walk.row);
    let isKept = first > walk.row || walk.start > 0u;
    let entry = select(params.chunks + which - params.firstChild, row / $(EVERY)u, first > walk.row);
    let keptFirst = keptAt(select(0u, entry, isKept), head, place);
    var shares = vec4<f32>(0.0);
    //#for j 0 DV/4
    s$j = fma(q, load_dOutput(values + $(j)u), s$j);
    sums = fma(s$j, load_errors(values + $(j)u), sums);
    s$j = fma(key, -(strength * load_errors(slopes + $(j)u)), s$j);
    {
      var state = vec4<f32>(0.0);
      if (isKept) { state = load_kept(keptFirst + $(j)u); }
      for (var before = first; before < row; before++) {
        let written = rates[(before * 2u + 1u) * params.valueHeads + head] *
          load_errors((before * params.valueHeads + head) * $(DV/4)u + $(j)u);
        let earlier = vec4<f32>(heads[before * row0 + (params.keyHeads + keyHead) * $(DK)u + place]);
        state = fma(earlier, written, rates[before * 2u * params.valueHeads + head] * state);
      }
      shares = fma(state, s$j, shares);
    }
    s$j *= decay;
    //#endfor
    dHeads[dKey] = fma(strength, (sums.x + sums.y) + (sums.z + sums.w), dHeads[dKey]);
    dHeads[dKey + params.tokens * params.valueHeads * $(DK)u] =
      decay * ((shares.x + shares.y) + (shares.z + shares.w));
    //#else
    if (t > 0u && row % $(EVERY)u == 0u) {
      let first = keptAt(row / $(EVERY)u, head, place);
      //#for j 0 DV/4
      store_kept(first + $(j)u, s$j);
      //#endfor
    }
    let key = vec4<f32>(k);
    var now = vec4<f32>(0.0);
    //#for j 0 DV/4
    s$j *= decay;
    sums = fma(s$j, load_errors(slopes + $(j)u), sums);
    s$j = fma(key, strength * load_errors(values + $(j)u), s$j);
    now = fma(s$j, load_dOutput(values + $(j)u), now);
    //#endfor
    dHeads[dKey] = -(strength * ((sums.x + sums.y) + (sums.z + sums.w)));
    dHeads[dQuery] = (now.x + now.y) + (now.z + now.w);
    //#endif
  }
}
