// Turns the blocks of a weight file into elements in f32, f16 or bf16 (STORAGE), four to a lane. Every
// number of the piece's place is a multiple of 4.
//
// The formats of quantised blocks are ggml's (ggml-common.h, ggml-quants.c); each has an even number of
// bytes, so that its f16 scales never lie across two 16-bit places.

struct Params {
  elements: u32,      // in this piece, a multiple of 4
  firstElement: u32,  // the piece's place in its tensor
  targetStart: u32,   // the tensor's place in the target
  width: u32,         // elements of a row
  headDim: u32,       // not 0: the rows of a head have the two halves of the rotation interleaved
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

fn signed(byte: u32) -> f32 {
  return f32(extractBits(i32(byte), 0u, 8u));
}

//#if TYPE == "Q4_K" || TYPE == "Q5_K"
// Six bits each of the scale and the minimum of group j, packed into 12 bytes.
fn scaleAndMinimum(at: u32, j: u32) -> vec2<f32> {
  if (j < 4u) {
    return vec2<f32>(vec2<u32>(byteAt(at + j) & 63u, byteAt(at + j + 4u) & 63u));
  }
  let low = byteAt(at + j + 4u);
  return vec2<f32>(vec2<u32>(
    (low & 15u) | ((byteAt(at + j - 4u) >> 6u) << 4u),
    (low >> 4u) | ((byteAt(at + j) >> 6u) << 4u)));
}
//#endif

fn elementAt(index: u32) -> f32 {
  let block = (index / $(ELEMENTS)u) * $(BYTES)u;
  let i = index % $(ELEMENTS)u;
  //#if TYPE == "F32"
  return bitcast<f32>(packed[index]);
  //#endif
  //#if TYPE == "F16"
  return halfAt(block);
  //#endif
  //#if TYPE == "BF16"
  return bitcast<f32>(halfBitsAt(block) << 16u);
  //#endif
  //#if TYPE == "Q4_0"
  let four = (byteAt(block + 2u + (i & 15u)) >> ((i >> 4u) * 4u)) & 15u;
  return halfAt(block) * (f32(four) - 8.0);
  //#endif
  //#if TYPE == "Q4_1"
  let four = (byteAt(block + 4u + (i & 15u)) >> ((i >> 4u) * 4u)) & 15u;
  return halfAt(block) * f32(four) + halfAt(block + 2u);
  //#endif
  //#if TYPE == "Q5_0"
  let four = (byteAt(block + 6u + (i & 15u)) >> ((i >> 4u) * 4u)) & 15u;
  let fifth = (byteAt(block + 2u + (i >> 3u)) >> (i & 7u)) & 1u;
  return halfAt(block) * (f32(four | (fifth << 4u)) - 16.0);
  //#endif
  //#if TYPE == "Q5_1"
  let four = (byteAt(block + 8u + (i & 15u)) >> ((i >> 4u) * 4u)) & 15u;
  let fifth = (byteAt(block + 4u + (i >> 3u)) >> (i & 7u)) & 1u;
  return halfAt(block) * f32(four | (fifth << 4u)) + halfAt(block + 2u);
  //#endif
  //#if TYPE == "Q8_0"
  return halfAt(block) * signed(byteAt(block + 2u + i));
  //#endif
  //#if TYPE == "Q4_K"
  let group = i >> 5u;
  let four = (byteAt(block + 16u + (i >> 6u) * 32u + (i & 31u)) >> ((group & 1u) * 4u)) & 15u;
  let factors = scaleAndMinimum(block + 4u, group);
  return (halfAt(block) * factors.x) * f32(four) - halfAt(block + 2u) * factors.y;
  //#endif
  //#if TYPE == "Q5_K"
  let group = i >> 5u;
  let four = (byteAt(block + 48u + (i >> 6u) * 32u + (i & 31u)) >> ((group & 1u) * 4u)) & 15u;
  let fifth = (byteAt(block + 16u + (i & 31u)) >> group) & 1u;
  let factors = scaleAndMinimum(block + 4u, group);
  return (halfAt(block) * factors.x) * f32(four | (fifth << 4u)) - halfAt(block + 2u) * factors.y;
  //#endif
  //#if TYPE == "Q6_K"
  // Two runs of 128; in each, four quarters share 64 bytes of low and 32 of high bits.
  let run = i >> 7u;
  let quarter = (i >> 5u) & 3u;
  let l = i & 31u;
  let low = (byteAt(block + run * 64u + (quarter & 1u) * 32u + l) >> ((quarter >> 1u) * 4u)) & 15u;
  let high = (byteAt(block + 128u + run * 32u + l) >> (quarter * 2u)) & 3u;
  let scale = signed(byteAt(block + 192u + run * 8u + quarter * 2u + (l >> 4u)));
  return (halfAt(block + 208u) * scale) * (f32(low | (high << 4u)) - 32.0);
  //#endif
}

// Row h·D + 2·b + a of the file is row h·D + a·D/2 + b of the model.
fn placeOf(element: u32) -> u32 {
  if (params.headDim == 0u) {
    return element;
  }
  let row = element / params.width;
  let within = row % params.headDim;
  let moved = row - within + (within & 1u) * (params.headDim / 2u) + (within >> 1u);
  return moved * params.width + element % params.width;
}

//#if STORAGE == "f16"
// Rounded to nearest even in integers: pack2x16float may round either way.
fn halfOf(value: f32) -> u32 {
  let bits = bitcast<u32>(value);
  let sign = (bits >> 16u) & 0x8000u;
  let magnitude = bits & 0x7fffffffu;
  if (magnitude >= 0x477ff000u) {
    return sign | 0x7c00u;
  }
  if (magnitude < 0x38800000u) {
    // Below the smallest normal number: in steps of 2^-24. The sum with 2^23 rounds to whole steps.
    let steps = bitcast<f32>(magnitude) * 16777216.0;
    return sign | (bitcast<u32>(steps + 8388608.0) & 0x7ffu);
  }
  return sign | ((magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13u) & 1u)) >> 13u);
}
//#endif
//#if STORAGE == "bf16"
fn halfOf(value: f32) -> u32 {
  let bits = bitcast<u32>(value);
  return (bits + 0x7fffu + ((bits >> 16u) & 1u)) >> 16u;
}
//#endif

@compute @workgroup_size($WORKGROUP)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_id) local: vec3<u32>,
) {
  let first = ((group.y * groups.x + group.x) * $(WORKGROUP)u + local.x) * 4u;
  if (first >= params.elements) {
    return;
  }
  let target_at = params.targetStart + placeOf(params.firstElement + first);
  //#if STORAGE == "f32"
  for (var i = 0u; i < 4u; i++) {
    weights[target_at + i] = elementAt(first + i);
  }
  //#else
  for (var i = 0u; i < 4u; i += 2u) {
    weights[(target_at + i) / 2u] =
      halfOf(elementAt(first + i)) | (halfOf(elementAt(first + i + 1u)) << 16u);
  }
  //#endif
}
