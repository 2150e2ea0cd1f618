// The k likeliest tokens of each row, the likeliest first and of those that tie the lowest first, with their
// log-probs. Each walk over a row finds the next one: k is small.
//
//   LANES 1    a lane per row (lanes of a CPU core)
//   LANES 128  a workgroup per row

//#include logit_order

struct Params {
  rows: u32,
  columns: u32,   // of the vocabulary
  stride: u32,    // elements from one row of logits to the next
  firstRow: u32,  // of the output
  most: u32,      // K, places in a row of the output
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> logits: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> logSumExp: array<f32>;
@group(0) @binding(3) var<storage, read> scales: array<vec2<f32>>;
@group(0) @binding(4) var<storage, read> counts: array<u32>;
// Token, and the bits of its log-prob.
@group(0) @binding(5) var<storage, read_write> likeliest: array<vec2<u32>>;

fn vectorsOfRow() -> u32 {
  return (params.columns + 3u) / 4u;
}

// (key, token) of the first token after `last` in the order of likelihood, among every `step`-th vector.
fn nextOf(row: u32, last: vec2<u32>, first: u32, step: u32) -> vec2<u32> {
  var best = vec2<u32>(0u, 0xffffffffu);
  for (var vector = first; vector < vectorsOfRow(); vector += step) {
    let keys = keysOf(logits[row * (params.stride / 4u) + vector], vector, params.columns);
    //#for c 0 4
    {
      let key = keys[$c];
      let token = vector * 4u + $(c)u;
      let isAfter = key < last.x || (key == last.x && token > last.y && last.y != 0xffffffffu);
      if (isAfter && key > best.x) {
        best = vec2<u32>(key, token);
      }
    }
    //#endfor
  }
  return best;
}

fn store(row: u32, place: u32, token: u32) {
  let logit = logits[row * (params.stride / 4u) + token / 4u][token % 4u];
  let logProb = fma(logit, scales[row].x, -logSumExp[row]);
  likeliest[(params.firstRow + row) * params.most + place] = vec2<u32>(token, bitcast<u32>(logProb));
}

//#if LANES == 128
var<workgroup> candidates: array<vec2<u32>, 128>;
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
  let row = (group.y * groups.x + group.x) * 8u + local.x;
  //#else
  let row = group.y * groups.x + group.x;
  //#endif
  if (row >= params.rows) {
    return;
  }
  // Above every key.
  var last = vec2<u32>(0xffffffffu, 0xffffffffu);
  for (var place = 0u; place < min(counts[row], params.most); place++) {
    //#if LANES == 1
    last = nextOf(row, last, 0u, 1u);
    store(row, place, min(last.y, params.columns - 1u));
    //#else
    candidates[local.x] = nextOf(row, last, local.x, 128u);
    workgroupBarrier();
    var best = candidates[0];
    for (var i = 1u; i < 128u; i++) {
      let found = candidates[i];
      best = select(best, found, found.x > best.x || (found.x == best.x && found.y < best.y));
    }
    workgroupBarrier();
    last = best;
    if (local.x == 0u) {
      store(row, place, min(last.y, params.columns - 1u));
    }
    //#endif
  }
}
