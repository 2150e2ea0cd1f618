// What each of 64 lanes found: a sum, and a number of elements that are not finite.
var<workgroup> sums: array<f32, 64>;
var<workgroup> counts: array<u32, 64>;

// Adds up the lanes' sums and counts, into the first of each.
fn fold(lane: u32) {
  for (var half = 32u; half > 0u; half /= 2u) {
    workgroupBarrier();
    if (lane < half) {
      sums[lane] += sums[lane + half];
      counts[lane] += counts[lane + half];
    }
  }
}
