struct Params {
  rows: u32,
  columns: u32,   // a multiple of 4
}

@group(0) @binding(0) var<uniform> params: Params;
//#include stored_vectors NAME="dy" BINDING=1 STORAGE="f32"
//#if NORM
//#include stored_vectors NAME="x" BINDING=2 STORAGE="f32"
@group(0) @binding(3) var<storage, read> rstd: array<f32>;
//#endif
@group(0) @binding(4) var<storage, read_write> target_sum: array<vec4<f32>>;
