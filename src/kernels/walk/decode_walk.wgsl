// A decode step of a small decoder in one launch: a lane takes the tokens of $SLOTS slots through all layers and the head,
// and needs nothing of what other lanes make. For software drivers, where a launch costs as much as what a small layer
// has to do. Every number has the bits of the kernels that a step is otherwise made of (gather_rows, rmsnorm, gemm,
// rope, attention_decode, swiglu), whose sums are written here in the same order.
//
// `steps` says what is done. `rows` holds what a lane makes of a slot, a part for each step to read and write; vector v of
// neighbouring lanes lies side by side. All lanes read the same weights at the same time, which this driver loads once;
// so it does with keys and values of a beginning that all lanes share, as the samples of one prompt do (SHARED).
// Products go through $DEPTH vectors of a slot at a time, which registers and the stack hold, two columns at once: sums of
// more fit no registers. Until the next vectors come the sums are put aside.

struct Params {
  slots: u32,
  stepCount: u32,
  width: u32,         // vectors of a slot in rows
  hidden: u32,        // vectors of the residual stream, which begins a slot's row
  scores: u32,        // where in a slot's row a block's scores are kept
  vocabulary: u32,
  logits: u32,        // where in rows they begin, in vectors
  logitVectors: u32,  // of a row of them
  stateStride: u32,   // words from one field of the state to the next
  maxPages: u32,      // entries of one slot's row of the page table
  cacheRows: u32,     // of the keys of a layer
  maxPositions: u32,  // rows of the table
  heads: u32,
  kvHeads: u32,
  turned: u32,        // vectors of half of what is rotated
  scale: f32,         // of scores, times log2(e)
  epsilon: f32,
  embedding: u32,     // vectors of the weights before it
}

// What is done with each slot. Places of weights, in rows and in the cache are in vectors.
struct Step {
  kind: u32,
  input: u32,    // where it reads in a slot's row
  output: u32,   // where it writes
  first: u32,    // where weights begin; attention: keys of the layer, and values
  aside: u32,    // where in a slot's row a product's sums are put aside
  depth: u32,    // vectors of its input
  columns: u32,  // of a product
}

const norm = 0u;
const product = 1u;
const productAdded = 2u;  // to what is there
const head = 3u;          // a product that makes logits
const gate = 4u;
const attention = 5u;

@group(0) @binding(0) var<uniform> params: Params;
//#include stored_vectors NAME="weights" BINDING=1 STORAGE="f32"
@group(0) @binding(2) var<storage, read> steps: array<Step>;
//#include stored_vectors NAME="table" BINDING=3 STORAGE="f32"
@group(0) @binding(4) var<storage, read> pageTable: array<u32>;
@group(0) @binding(5) var<storage, read> state: array<u32>;
//#include written_vectors NAME="keys" BINDING=6
//#include written_vectors NAME="values" BINDING=7
// The logits follow.
//#include written_vectors NAME="rows" BINDING=8

const lowest = -3.0e38;
const none = 0xffffffffu;

//#include silu VECTOR="vec4<f32>"

@compute @workgroup_size($LANES)
fn main(
  @builtin(workgroup_id) workgroup: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  let lastSlot = params.slots - 1u;
  //#for s 0 SLOTS
  let slot$s = workgroup.x * $(LANES*SLOTS)u + $(s*LANES)u + lane;
  let row$s = (workgroup.x * $(SLOTS)u + $(s)u) * params.width * $(LANES)u + lane;
  //#endfor

  //#for s 0 SLOTS
  {
    let token = state[$(TOKENS)u * params.stateStride + min(slot$s, lastSlot)];
    let source = params.embedding + min(token, params.vocabulary - 1u) * params.hidden;
    for (var v = 0u; v < params.hidden; v++) {
      let value = select(vec4<f32>(0.0), load_weights(source + v), token < params.vocabulary);
      store_rows(row$s + v * $(LANES)u, value);
    }
  }
  //#endfor

  for (var number = 0u; number < params.stepCount; number++) {
    let step = steps[number];
    if (step.kind == norm) {
      //#for s 0 SLOTS
      {
        let source = row$s + step.input * $(LANES)u;
        let to = row$s + step.output * $(LANES)u;
        var sums = vec4<f32>(0.0);
        for (var i = 0u; i < step.depth; i++) {
          let value = load_rows(source + i * $(LANES)u);
          sums = fma(value, value, sums);
        }
        let total = (sums.x + sums.y) + (sums.z + sums.w);
        let rstd = inverseSqrt(fma(total, 1.0 / f32(4u * step.depth), params.epsilon));
        for (var i = 0u; i < step.depth; i++) {
          let gain = load_weights(step.first + i);
          store_rows(to + i * $(LANES)u, load_rows(source + i * $(LANES)u) * rstd * gain);
        }
      }
      //#endfor
    } else if (step.kind == gate) {
      for (var i = 0u; i < step.depth; i++) {
        //#for s 0 SLOTS
        {
          let x = load_rows(row$s + (step.input + i) * $(LANES)u);
          let up = load_rows(row$s + (step.input + step.depth + i) * $(LANES)u);
          store_rows(row$s + (step.output + i) * $(LANES)u, x * slope(x) * up);
        }
        //#endfor
      }
    } else if (step.kind == attention) {
      for (var s = 0u; s < $(SLOTS)u; s++) {
        let slot = slot0 + s * $(LANES)u;
        let known = min(slot, lastSlot);
        let row = row0 + s * params.width * $(LANES)u + step.input * $(LANES)u;
        let place = select(none, state[$(KEY_ROWS)u * params.stateStride + known], slot <= lastSlot);
        let position = min(state[$(POSITIONS)u * params.stateStride + known], params.maxPositions - 1u);
        for (var unit = 0u; unit < params.heads + 2u * params.kvHeads; unit++) {
          let isQuery = unit < params.heads;
          let isKey = !isQuery && unit < params.heads + params.kvHeads;
          let ofHead = unit - params.heads - select(params.kvHeads, 0u, isKey);
          let begin = step.first + (place * params.kvHeads + ofHead) * $(D/4)u;
          for (var c = 0u; c < $(D/8)u; c++) {
            let isTurned = c < params.turned;
            let lowAt = select(params.turned + c, c, isTurned);
            let highAt = c + select($(D/8)u, params.turned, isTurned);
            let lowRow = row + (unit * $(D/4)u + lowAt) * $(LANES)u;
            let highRow = row + (unit * $(D/4)u + highAt) * $(LANES)u;
            var low = load_rows(lowRow);
            var high = load_rows(highRow);
            if (isQuery || isKey) {
              let at = (position * $(D/8)u + c) * 2u;
              let first = load_table(at);
              let second = load_table(at + 1u);
              let cosine = vec4<f32>(first.x, first.z, second.x, second.z);
              let sine = vec4<f32>(first.y, first.w, second.y, second.w);
              let rotated = fma(low, cosine, -(high * sine));
              high = fma(high, cosine, low * sine);
              low = rotated;
            }
            if (isQuery) {
              store_rows(lowRow, low);
              store_rows(highRow, high);
            } else if (place < params.cacheRows) {
              if (isKey) {
                store_keys(begin + lowAt, low);
                store_keys(begin + highAt, high);
              } else {
                store_values(begin + lowAt, low);
                store_values(begin + highAt, high);
              }
            }
          }
        }

        let given = min(state[$(LENGTHS)u * params.stateStride + known], params.maxPages * $(PAGE)u);
        let length = select(0u, given, slot <= lastSlot);
        //#if SHARED
        // Keys that all lanes have in common, those of whole pages; slots that are not in use have any.
        let sharedSlot = subgroupMax(select(0u, slot, length > 0u));
        var pages = 0u;
        for (var p = 0u; p < params.maxPages; p++) {
          let own = pageTable[known * params.maxPages + p];
          let isSame = own == pageTable[sharedSlot * params.maxPages + p] && (p + 1u) * $(PAGE)u <= length;
          pages += select(0u, 1u, isSame && pages == p);
        }
        let sharedKeys = subgroupMin(select(pages, params.maxPages, length == 0u)) * $(PAGE)u;
        //#endif
        let scores = row0 + (s * params.width + params.scores) * $(LANES)u;
        let group = params.heads / params.kvHeads;
        let stride = params.kvHeads * $(D/4)u;
        for (var firstHead = 0u; firstHead < params.heads; firstHead += $(HEADS)u) {
          let kvHead = firstHead / group;
          //#for h 0 HEADS
          //#for c 0 D/4
          let q$(h)_$c = load_rows(row + ((firstHead + $(h)u) * $(D/4)u + $(c)u) * $(LANES)u) * params.scale;
          var o$(h)_$c = vec4<f32>(0.0);
          //#endfor
          var m$h = lowest;
          var l$h = 0.0;
          //#endfor
          for (var block = 0u; block < length; block += $(BLOCK)u) {
            let page = pageTable[slot * params.maxPages + block / $(PAGE)u];
            let base = page * $(PAGE)u + block % $(PAGE)u;
            let count = min($(BLOCK)u, length - block);
            let ofHead = step.first + kvHead * $(D/4)u;
            //#if SHARED
            let isShared = block < sharedKeys;
            let sharedRow = pageTable[sharedSlot * params.maxPages + block / $(PAGE)u] * $(PAGE)u + block % $(PAGE)u;
            //#endif
            //#for h 0 HEADS
            var blockMax$h = lowest;
            var blockSum$h = 0.0;
            //#for c 0 D/4
            var sum$(h)_$c = vec4<f32>(0.0);
            //#endfor
            //#endfor
            for (var j = 0u; j < $(BLOCK)u; j += 4u) {
              //#for n 0 4
              let key$n = (base + min(j + $(n)u, count - 1u)) * stride + ofHead;
              //#for h 0 HEADS
              var s$(h)_$n = 0.0;
              //#endfor
              //#for c 0 D/4
              {
                //#include walk_load VECTOR="k" OF="keys" INDEX="key"+n KEY=n VECTOR_OF_HEAD=c
                //#for h 0 HEADS
                //#for t 0 4
                s$(h)_$n = fma(q$(h)_$c[$t], k[$t], s$(h)_$n);
                //#endfor
                //#endfor
              }
              //#endfor
              //#endfor
              let inside = j + vec4<u32>(0u, 1u, 2u, 3u) < vec4<u32>(count);
              //#for h 0 HEADS
              let of$h = select(vec4<f32>(lowest), vec4<f32>(s$(h)_0, s$(h)_1, s$(h)_2, s$(h)_3), inside);
              //#for n 0 4
              blockMax$h = max(blockMax$h, of$h[$n]);
              //#endfor
              store_rows(scores + ($(h*BLOCK/4)u + j / 4u) * $(LANES)u, of$h);
              //#endfor
            }
            for (var j = 0u; j < $(BLOCK)u; j += 4u) {
              let inside = j + vec4<u32>(0u, 1u, 2u, 3u) < vec4<u32>(count);
              //#for h 0 HEADS
              let of$h = load_rows(scores + ($(h*BLOCK/4)u + j / 4u) * $(LANES)u);
              let p$h = select(vec4<f32>(0.0), exp2(of$h - blockMax$h), inside);
              //#for n 0 4
              blockSum$h += p$h[$n];
              //#endfor
              //#endfor
              //#for n 0 4
              let value$n = (base + min(j + $(n)u, count - 1u)) * stride + ofHead;
              //#for c 0 D/4
              {
                //#include walk_load VECTOR="v" OF="values" INDEX="value"+n KEY=n VECTOR_OF_HEAD=c
                //#for h 0 HEADS
                sum$(h)_$c = fma(vec4<f32>(p$h[$n]), v, sum$(h)_$c);
                //#endfor
              }
              //#endfor
              //#endfor
            }
            //#for h 0 HEADS
            //#include softmax_join OF=h
            //#for c 0 D/4
            o$(h)_$c = fma(o$(h)_$c, vec4<f32>(keep$h), sum$(h)_$c * add$h);
            //#endfor
            //#endfor
          }
          //#for h 0 HEADS
          let share$h = 1.0 / l$h;
          //#for c 0 D/4
          store_rows(row + ((firstHead + $(h)u) * $(D/4)u + $(c)u) * $(LANES)u,
            select(vec4<f32>(0.0), o$(h)_$c * share$h, length > 0u));
          //#endfor
          //#endfor
        }
      }
    } else {
      for (var done = 0u; done < step.depth; done += $(DEPTH)u) {
        //#for s 0 SLOTS
        //#for k 0 DEPTH
        let x$(s)_$k = load_rows(row$s + (step.input + done + $(k)u) * $(LANES)u);
        //#endfor
        //#endfor
        let isLast = done + $(DEPTH)u >= step.depth;
        for (var column = 0u; column < step.columns; column += 4u) {
          //#for s 0 SLOTS
          var sum$s = vec4<f32>(0.0);
          if (done > 0u) {
            sum$s = load_rows(row$s + (step.aside + column / 4u) * $(LANES)u);
          }
          //#endfor
          //#for n 0 4
          let at$n = step.first + min(column + $(n)u, step.columns - 1u) * step.depth + done;
          //#endfor
          //#for half 0 2
          //#for k 0 DEPTH
          {
            //#for n 0 2
            let w$n = load_weights(at$(2*half+n) + $(k)u);
            //#endfor
            //#for t 0 4
            //#for n 0 2
            //#for s 0 SLOTS
            sum$s[$(2*half+n)] = fma(x$(s)_$k[$t], w$n[$t], sum$s[$(2*half+n)]);
            //#endfor
            //#endfor
            //#endfor
          }
          //#endfor
          //#endfor
          //#for s 0 SLOTS
          if (!isLast) {
            store_rows(row$s + (step.aside + column / 4u) * $(LANES)u, sum$s);
          } else if (step.kind == head) {
            if (slot$s <= lastSlot) {
              store_rows(params.logits + slot$s * params.logitVectors + column / 4u, sum$s);
            }
          } else if (step.kind == productAdded) {
            let to = row$s + (step.output + column / 4u) * $(LANES)u;
            store_rows(to, sum$s + load_rows(to));
          } else {
            store_rows(row$s + (step.output + column / 4u) * $(LANES)u, sum$s);
          }
          //#endfor
        }
      }
    }
  }
}
