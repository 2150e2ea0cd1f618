// The row of key `key` of the segment that begins at row `start`.
fn rowOfKey(segment: vec4<u32>, start: u32, key: u32) -> u32 {
  //#if PAGED
  return pageTable[segment.z + key / $(PAGE)u] * $(PAGE)u + key % $(PAGE)u;
  //#else
  return select(start + (key - segment.w), segment.z + key, key < segment.w);
  //#endif
}
