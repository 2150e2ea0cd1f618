// Copies rows of D elements, a lane per vector.
//
//   SCATTER false  target_rows[i] = source[rows[i] - firstRow], and where rows[i] is outside the source zeros,
//                  or with KEEP what the target holds
//   SCATTER true   target_rows[rows[i]] = source[i], and nothing where rows[i] is beyond the target
//
// The source may be stored in f16, bf16 or quantised blocks (STORAGE).

struct Params {
  rowCount: u32,   // entries of rows
  limit: u32,      // rows of the indexed tensor
  firstRow: u32,   // the number of its first row
  vectors: u32,    // D / 4
}

@group(0) @binding(0) var<uniform> params: Params;
//#include stored_vectors NAME="source" BINDING=1
@group(0) @binding(2) var<storage, read> rows: array<u32>;
@group(0) @binding(3) var<storage, read_write> target_rows: array<vec4<f32>>;

// A workgroup makes 8 rows: a start costs more than a short row.
@compute @workgroup_size($WORKGROUP)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_id) local: vec3<u32>,
) {
  let first = (group.z * groups.y + group.y) * 8u;
  let vector = group.x * $(WORKGROUP)u + local.x;
  if (vector >= params.vectors) {
    return;
  }
  for (var i = first; i < min(first + 8u, params.rowCount); i++) {
    let row = rows[i] - params.firstRow;  // wraps around, beyond any limit, for a smaller one
    //#if SCATTER
    if (row < params.limit) {
      target_rows[row * params.vectors + vector] = load_source(i * params.vectors + vector);
    }
    //#else
    //#if KEEP
    if (row < params.limit) {
      target_rows[i * params.vectors + vector] = load_source(row * params.vectors + vector);
    }
    //#else
    var value = vec4<f32>(0.0);
    if (row < params.limit) {
      value = load_source(row * params.vectors + vector);
    }
    target_rows[i * params.vectors + vector] = value;
    //#endif
    //#endif
  }
}
