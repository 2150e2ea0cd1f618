  // Joins a block to the blocks before it: their maximum m and sum l go on, and outputs take keep and add.
  let newMax = max(m, blockMax);
  let keep = exp2(m - newMax);
  let add = exp2(blockMax - newMax);
  m = newMax;
  l = fma(l, keep, blockSum * add);
