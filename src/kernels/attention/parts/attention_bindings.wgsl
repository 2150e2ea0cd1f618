// What the forward kernels of attention read and fill, and which row of the keys is which.
//
// PAGED: keys and values are the cache's, which holds the keys of the queries themselves too. Key t of a segment
// is row pageTable[z + t / $PAGE] * $PAGE + t % $PAGE, z and w (the position of the segment's first token) from
// `segments`. There is then no logSumExp.

struct Params {
  tokens: u32,
  heads: u32,
  kvHeads: u32,
  scale: f32,     // times log2(e)
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
@group(0) @binding(5) var<storage, read_write> output: array<vec4<f32>>;
//#if PAGED
@group(0) @binding(6) var<storage, read> pageTable: array<u32>;
//#else
@group(0) @binding(6) var<storage, read_write> logSumExp: array<f32>;
//#endif

const lowest = -3.0e38;
