// Rows that are walked one after the other, of one sequence or of a beginning that several share.
struct Walk {
  row: u32,        // the first
  count: u32,
  start: u32,      // 1 + the state that it begins with; 0 for zeros
  end: u32,        // 1 + the state that receives its last; 0 for none
  skipped: u32,    // rows at the front without an output
  outputRow: u32,  // of the first row that has one
  firstChild: u32, // the walks that go on from it
  children: u32,
}
