struct Params {
  rows: u32,
  columns: u32,   // a multiple of 4
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> dy: array<vec4<f32>>;
//#if NORM
@group(0) @binding(2) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> rstd: array<f32>;
//#endif
@group(0) @binding(4) var<storage, read_write> target_sum: array<vec4<f32>>;
