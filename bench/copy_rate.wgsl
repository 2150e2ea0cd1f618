// The fastest a kernel copies memory here: a lane copies $VECTORS vectors, side by side with its neighbours.
// The number of vectors is a multiple of what the workgroups copy.

@group(0) @binding(0) var<storage, read> source: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> copy: array<vec4<f32>>;

@compute @workgroup_size($WORKGROUP)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) local: u32,
) {
  let first = (group.y * groups.x + group.x) * $(WORKGROUP*VECTORS)u + local;
  //#if VECTORS == 1
  copy[first] = source[first];
  //#else
  for (var i = 0u; i < $(WORKGROUP*VECTORS)u; i += $(WORKGROUP)u) {
    copy[first + i] = source[first + i];
  }
  //#endif
}
