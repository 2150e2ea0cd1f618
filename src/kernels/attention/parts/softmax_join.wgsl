  // Joins a block to the blocks before it: their maximum m and sum l go on, and outputs take keep and add. Where a
  // lane has several softmaxes, OF is which.
  let newMax$OF = max(m$OF, blockMax$OF);
  let keep$OF = exp2(m$OF - newMax$OF);
  let add$OF = exp2(blockMax$OF - newMax$OF);
  m$OF = newMax$OF;
  l$OF = fma(l$OF, keep$OF, blockSum$OF * add$OF);
