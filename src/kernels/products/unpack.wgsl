// Turns the blocks of a weight file into elements in f32, f16 or bf16 (STORAGE), or quantised blocks without loss into
// those of stored_vectors.wgsl; $PER_LANE elements to a lane: whole vectors or the quants of a word. Every number of
// the piece's place is a multiple of $ALIGNMENT.
//
// The formats of quantised blocks are ggml's (ggml-common.h, ggml-quants.c); each has an even number of
// bytes, so that its f16 scales never lie across two 16-bit places.

struct Params {
  elements: u32,      // in this piece
  firstElement: u32,  // the piece's place in its tensor
  targetStart: u32,   // the tensor's place in the target
  width: u32,         // elements of a row
  headDim: u32,       // not 0: the rows of a head have the two halves of the rotation interleaved
  groupWidth: u32,    // not 0: groups of so many columns, keyHeads · perKey of them, are moved
  keyHeads: u32,
  perKey: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> packed: array<u32>;
//#if STORAGE == "f32"
@group(0) @binding(2) var<storage, read_write> weights: array<f32>;
//#else
@group(0) @binding(2) var<storage, read_write> weights: array<u32>;
//#endif

fn byteAt(at: u32) -> u32 {
  return (packed[at >> 2u] >> ((at & 3u) * 8u)) & 0xffu;
}

fn halfBitsAt(at: u32) -> u32 {
  return (packed[at >> 2u] >> ((at & 2u) * 8u)) & 0xffffu;
}

fn halfAt(at: u32) -> f32 {
  return unpack2x16float(halfBitsAt(at)).x;
}

fn signed(byte: u32) -> i32 {
  return extractBits(i32(byte), 0u, 8u);
}

//#if TYPE == "Q4_K" || TYPE == "Q5_K"
// Six bits each of the scale and the minimum of group j, packed into 12 bytes.
fn scaleAndMinimum(at: u32, j: u32) -> vec2<u32> {
  if (j < 4u) {
    return vec2<u32>(byteAt(at + j) & 63u, byteAt(at + j + 4u) & 63u);
  }
  let low = byteAt(at + j + 4u);
  return vec2<u32>(
    (low & 15u) | ((byteAt(at + j - 4u) >> 6u) << 4u),
    (low >> 4u) | ((byteAt(at + j) >> 6u) << 4u));
}
//#endif

//#if QUANTISED
// An element of a quantised block stands for quant * (scale * multiplier) + minimum. Both products are exact in f32:
// f16 has 11 bits, a multiplier 7, a quant 5, or 8 where there is no multiplier.

fn quantAt(block: u32, i: u32) -> i32 {
  //#if TYPE == "Q4_0"
  return i32((byteAt(block + 2u + (i & 15u)) >> ((i >> 4u) * 4u)) & 15u);
  //#endif
  //#if TYPE == "Q4_1"
  return i32((byteAt(block + 4u + (i & 15u)) >> ((i >> 4u) * 4u)) & 15u);
  //#endif
  //#if TYPE == "Q5_0"
  let four = (byteAt(block + 6u + (i & 15u)) >> ((i >> 4u) * 4u)) & 15u;
  let fifth = (byteAt(block + 2u + (i >> 3u)) >> (i & 7u)) & 1u;
  return i32(four | (fifth << 4u));
  //#endif
  //#if TYPE == "Q5_1"
  let four = (byteAt(block + 8u + (i & 15u)) >> ((i >> 4u) * 4u)) & 15u;
  let fifth = (byteAt(block + 4u + (i >> 3u)) >> (i & 7u)) & 1u;
  return i32(four | (fifth << 4u));
  //#endif
  //#if TYPE == "Q8_0"
  return signed(byteAt(block + 2u + i));
  //#endif
  //#if TYPE == "Q4_K"
  let byte = byteAt(block + 16u + (i >> 6u) * 32u + (i & 31u));
  return i32((byte >> (((i >> 5u) & 1u) * 4u)) & 15u);
  //#endif
  //#if TYPE == "Q5_K"
  let group = i >> 5u;
  let four = (byteAt(block + 48u + (i >> 6u) * 32u + (i & 31u)) >> ((group & 1u) * 4u)) & 15u;
  let fifth = (byteAt(block + 16u + (i & 31u)) >> group) & 1u;
  return i32(four | (fifth << 4u));
  //#endif
  //#if TYPE == "Q6_K"
  // Two runs of 128; in each, four quarters share 64 bytes of low and 32 of high bits.
  let run = i >> 7u;
  let quarter = (i >> 5u) & 3u;
  let l = i & 31u;
  let low = (byteAt(block + run * 64u + (quarter & 1u) * 32u + l) >> ((quarter >> 1u) * 4u)) & 15u;
  let high = (byteAt(block + 128u + run * 32u + l) >> (quarter * 2u)) & 3u;
  return i32(low | (high << 4u)) - 32;
  //#endif
}

fn scaleBits(block: u32) -> u32 {
  //#if TYPE == "Q6_K"
  return halfBitsAt(block + 208u);
  //#else
  return halfBitsAt(block);
  //#endif
}

fn multiplierAt(block: u32, i: u32) -> i32 {
  //#if TYPE == "Q4_K" || TYPE == "Q5_K"
  return i32(scaleAndMinimum(block + 4u, i >> 5u).x);
  //#else
  //#if TYPE == "Q6_K"
  return signed(byteAt(block + 192u + (i >> 4u)));
  //#else
  return 1;
  //#endif
  //#endif
}

fn minimumAt(block: u32, i: u32) -> f32 {
  //#if TYPE == "Q4_0"
  return halfAt(block) * -8.0;
  //#endif
  //#if TYPE == "Q5_0"
  return halfAt(block) * -16.0;
  //#endif
  //#if TYPE == "Q4_1" || TYPE == "Q5_1"
  return halfAt(block + 2u);
  //#endif
  //#if TYPE == "Q4_K" || TYPE == "Q5_K"
  return -halfAt(block + 2u) * f32(scaleAndMinimum(block + 4u, i >> 5u).y);
  //#endif
  //#if TYPE == "Q8_0" || TYPE == "Q6_K"
  // The zero that leaves every number as it is.
  return bitcast<f32>(0x80000000u);
  //#endif
}
//#endif

//#if STORAGE != "q4" && STORAGE != "q4k" && STORAGE != "q8"
fn elementAt(index: u32) -> f32 {
  //#if QUANTISED
  let block = (index / $(ELEMENTS)u) * $(BYTES)u;
  let i = index % $(ELEMENTS)u;
  let scale = unpack2x16float(scaleBits(block)).x * f32(multiplierAt(block, i));
  let value = fma(f32(quantAt(block, i)), scale, minimumAt(block, i));
  //#if TYPE == "Q4_0" || TYPE == "Q5_0"
  // Compilers know the minimum as a multiple of the scale and may make a zero with a sign, which a sum has not.
  return select(value, 0.0, (bitcast<u32>(value) << 1u) == 0u);
  //#else
  return value;
  //#endif
  //#else
  //#if TYPE == "F32"
  return bitcast<f32>(packed[index]);
  //#endif
  //#if TYPE == "F16"
  return halfAt(index * 2u);
  //#endif
  //#if TYPE == "BF16"
  return bitcast<f32>(halfBitsAt(index * 2u) << 16u);
  //#endif
  //#endif
}
//#endif

// Row h·D + 2·b + a of the file is row h·D + a·D/2 + b of the model, and group r·keyHeads + k of columns is group
// k·perKey + r.
fn placeOf(element: u32) -> u32 {
  if (params.groupWidth != 0u) {
    let column = element % params.width;
    let group = column / params.groupWidth;
    let moved = group % params.keyHeads * params.perKey + group / params.keyHeads;
    return element - column + moved * params.groupWidth + column % params.groupWidth;
  }
  if (params.headDim == 0u) {
    return element;
  }
  let row = element / params.width;
  let within = row % params.headDim;
  let moved = row - within + (within & 1u) * (params.headDim / 2u) + (within >> 1u);
  return moved * params.width + element % params.width;
}

//#if STORAGE == "f16" || STORAGE == "q4"
//#include half_of STORAGE="f16"
//#endif
//#if STORAGE == "bf16"
//#include half_of
//#endif

@compute @workgroup_size($WORKGROUP)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_id) local: vec3<u32>,
) {
  let first = ((group.y * groups.x + group.x) * $(WORKGROUP)u + local.x) * $(PER_LANE)u;
  if (first >= params.elements) {
    return;
  }
  let target_at = params.targetStart + placeOf(params.firstElement + first);
  //#if STORAGE == "f32"
  for (var i = 0u; i < 4u; i++) {
    weights[target_at + i] = elementAt(first + i);
  }
  //#endif
  //#if STORAGE == "f16" || STORAGE == "bf16"
  for (var i = 0u; i < 4u; i += 2u) {
    weights[(target_at + i) / 2u] =
      halfOf(elementAt(first + i)) | (halfOf(elementAt(first + i + 1u)) << 16u);
  }
  //#endif
  //#if STORAGE == "q4" || STORAGE == "q4k" || STORAGE == "q8"
  let block = (first / $(ELEMENTS)u) * $(BYTES)u;
  let i = first % $(ELEMENTS)u;
  //#if STORAGE == "q8"
  let base = target_at / 32u * 10u;
  var quants = 0u;
  for (var n = 0u; n < 4u; n++) {
    quants |= (bitcast<u32>(quantAt(block, i + n)) & 0xffu) << (n * 8u);
  }
  weights[base + target_at % 32u / 4u] = quants;
  if (target_at % 32u == 0u) {
    weights[base + 8u] = scaleBits(block) |
      ((bitcast<u32>(multiplierAt(block, i)) & 0xffu) << 16u) |
      ((bitcast<u32>(multiplierAt(block, i + 16u)) & 0xffu) << 24u);
    weights[base + 9u] = bitcast<u32>(minimumAt(block, i));
  }
  //#else
  let base = target_at / 64u * 10u;
  var quants = 0u;
  for (var n = 0u; n < 8u; n++) {
    quants |= bitcast<u32>(quantAt(block, i + n)) << (n * 4u);
  }
  weights[base + target_at % 64u / 8u] = quants;
  //#if STORAGE == "q4"
  if (target_at % 32u == 0u) {
    weights[base + 8u + target_at % 64u / 32u] =
      scaleBits(block) | (halfOf(minimumAt(block, i)) << 16u);
  }
  //#else
  if (target_at % 64u == 0u) {
    let low = scaleAndMinimum(block + 4u, i >> 5u);
    let high = scaleAndMinimum(block + 4u, (i >> 5u) + 1u);
    // The file's minimum is one to subtract.
    weights[base + 8u] = scaleBits(block) | ((halfBitsAt(block + 2u) ^ 0x8000u) << 16u);
    weights[base + 9u] = low.x | (high.x << 8u) | (low.y << 16u) | (high.y << 24u);
  }
  //#endif
  //#endif
  //#endif
}
