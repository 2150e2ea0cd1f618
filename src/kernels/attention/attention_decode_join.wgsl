// Joins the blocks that attention_decode_workgroup.wgsl leaves when it is SPLIT, in ascending order.
//
// A lane has four elements of a head; a workgroup has $HEADS heads of a slot. $AHEAD blocks are loaded at once.

struct Params {
  heads: u32,
  maxPages: u32,
  //#if WINDOW
  window: u32,    // keys that a query sees, its own the last
  //#endif
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> blockOutputs: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> blockSums: array<vec2<f32>>;
@group(0) @binding(3) var<storage, read> lengths: array<u32>;
@group(0) @binding(4) var<storage, read_write> output: array<vec4<f32>>;

const chunks = $(D/4)u;
const lowest = -3.0e38;

@compute @workgroup_size($(HEADS*D/4))
fn main(
  @builtin(workgroup_id) workgroup: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  let slot = workgroup.x;
  let head = workgroup.y * $(HEADS)u + lane / chunks;
  if (head >= params.heads) { return; }
  let chunk = lane % chunks;
  let length = min(lengths[slot], params.maxPages * $(PAGE)u);
  let first = slot * params.maxPages * $(PAGE/BLOCK)u;
  let count = (length + $(BLOCK-1)u) / $(BLOCK)u;
  var o = vec4<f32>(0.0);
  var m = lowest;
  var l = 0.0;
  //#if WINDOW
  for (var block = (length - min(params.window, length)) / $(BLOCK)u; block < count; block += $(AHEAD)u) {
  //#else
  for (var block = 0u; block < count; block += $(AHEAD)u) {
  //#endif
    //#for g 0 AHEAD
    let at$g = (first + min(block + $(g)u, count - 1u)) * params.heads + head;
    let sums$g = blockSums[at$g];
    let output$g = blockOutputs[at$g * chunks + chunk];
    //#endfor
    //#for g 0 AHEAD
    {
      // Past the last, one that changes nothing.
      let blockMax = select(lowest, sums$g.x, block + $(g)u < count);
      let blockSum = sums$g.y;
      //#include softmax_join OF=""
      o = fma(o, vec4<f32>(keep), output$g * add);
    }
    //#endfor
  }
  output[(slot * params.heads + head) * chunks + chunk] = select(vec4<f32>(0.0), o * (1.0 / l), length > 0u);
}
