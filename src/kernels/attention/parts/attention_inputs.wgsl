@group(0) @binding(0) var<uniform> params: Params;
//#include stored_vectors NAME="queries" BINDING=1 STORAGE="f32"
//#include stored_vectors NAME="keys" BINDING=2
//#include stored_vectors NAME="values" BINDING=3
@group(0) @binding(4) var<storage, read> segments: array<vec4<u32>>;
