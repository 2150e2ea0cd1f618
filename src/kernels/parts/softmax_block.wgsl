  // A block of the softmax: of the scores s0, s1, … the first `count` are of keys that the query sees.
  var blockMax = lowest;
  //#for j 0 BLOCK
  s$j = select(lowest, s$j, $(j)u < count);
  blockMax = max(blockMax, s$j);
  //#endfor
  var blockSum = 0.0;
  //#for j 0 BLOCK
  let p$j = select(0.0, exp2(s$j - blockMax), $(j)u < count);
  blockSum += p$j;
  //#endfor
