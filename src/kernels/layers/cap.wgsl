// x = cap · tanh(x / cap), element by element, in place.

struct Params {
  vectors: u32,
  cap: f32,
  inverseCap: f32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> x: array<vec4<f32>>;

//#include capped

@compute @workgroup_size(64)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  let index = (group.y * groups.x + group.x) * 64u + lane;
  if (index >= params.vectors) {
    return;
  }
  let values = x[index];
  x[index] = vec4<f32>(
    capped(values.x, params.cap, params.inverseCap),
    capped(values.y, params.cap, params.inverseCap),
    capped(values.z, params.cap, params.inverseCap),
    capped(values.w, params.cap, params.inverseCap));
}
