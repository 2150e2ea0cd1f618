// What the taps of four channels multiply by: tap k by the input that lies $TAPS - 1 - k tokens before.
fn weight(tap: u32, channels: u32) -> vec4<f32> {
  let at = channels * $(4*TAPS)u + tap;
  return vec4<f32>(weights[at], weights[at + $(TAPS)u], weights[at + $(2*TAPS)u], weights[at + $(3*TAPS)u]);
}
