// Lists the pairs of a token and an expert by expert, those of one expert by token: `list` holds, place after place, the
// numbers of pairs (token * chosen + choice), `places` the place of each pair, and offsets[e] .. offsets[e + 1] are the
// places of expert e.
//
// A lane has an expert, whose pairs it counts and writes by itself: nothing depends on which lane is first.

struct Params {
  pairs: u32,
  experts: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> chosen: array<u32>;
@group(0) @binding(2) var<storage, read_write> offsets: array<u32>;
@group(0) @binding(3) var<storage, read_write> list: array<u32>;
@group(0) @binding(4) var<storage, read_write> places: array<u32>;

@compute @workgroup_size($LANES)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  let expert = id.x;
  if (expert > params.experts) { return; }
  var place = 0u;
  for (var pair = 0u; pair < params.pairs; pair++) {
    place += select(0u, 1u, chosen[pair] < expert);
  }
  offsets[expert] = place;
  if (expert == params.experts) { return; }
  for (var pair = 0u; pair < params.pairs; pair++) {
    if (chosen[pair] == expert) {
      list[place] = pair;
      places[pair] = place;
      place++;
    }
  }
}
