// What the backward kernels of attention read; OF is whose gradients they fill.

struct Params {
  tokens: u32,
  heads: u32,
  kvHeads: u32,
  scale: f32,
  scaleLog2e: f32,
  chunks: u32,    // vectors of one head, D / 4
  //#if WINDOW
  window: u32,    // keys that a query sees, its own the last
  //#endif
  //#if CAP
  cap: f32,         // of scores, times log2(e)
  inverseCap: f32,
  //#endif
}

//#if CAP
//#include capped
//#endif

//#include attention_inputs
//#include stored_vectors NAME="outputGradient" BINDING=5 STORAGE="f32"
// A joint row of a token: its query heads, key heads, value heads.
@group(0) @binding(6) var<storage, read_write> dQkv: array<vec4<f32>>;
// Of each query ln Σ exp, then delta of each, which its kernel fills and the keys' reads.
//#if OF == "queries"
@group(0) @binding(7) var<storage, read_write> statistics: array<f32>;
@group(0) @binding(8) var<storage, read> output: array<vec4<f32>>;
//#else
@group(0) @binding(7) var<storage, read> statistics: array<f32>;
//#endif
