  // A block of the softmax: of the scores SCORE0, SCORE1, … the first `count` are of keys that the query sees;
  // TERM0, TERM1, … are what they weigh. Where a lane has several softmaxes, OF is which.
  var blockMax$OF = lowest;
  //#for j 0 BLOCK
  $(SCORE)$j = select(lowest, $(SCORE)$j, $(j)u < count);
  blockMax$OF = max(blockMax$OF, $(SCORE)$j);
  //#endfor
  var blockSum$OF = 0.0;
  //#for j 0 BLOCK
  let $(TERM)$j = select(0.0, exp2($(SCORE)$j - blockMax$OF), $(j)u < count);
  blockSum$OF += $(TERM)$j;
  //#endfor
