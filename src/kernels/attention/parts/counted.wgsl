// A counter below OF as an index: by a bare loop counter, Mesa would unroll the loop, and compile for minutes.
fn entry(counter: u32) -> u32 {
  return min(counter, $(OF-1)u);
}
