  // A block of the softmax: of the scores SCORE0, SCORE1, … the first `count` are of keys that the query sees, with
  // WINDOW but for the first `skipped`; with CAP they are capped first;
  // TERM0, TERM1, … are what they weigh. Where a lane has several softmaxes, OF is which.
  var blockMax$OF = lowest;
  //#for j 0 BLOCK
  //#if WINDOW
  let seen$(OF)_$j = ($(j)u < count) & ($(j)u >= skipped);
  //#else
  let seen$(OF)_$j = $(j)u < count;
  //#endif
  //#if CAP
  $(SCORE)$j = capped($(SCORE)$j, params.cap, params.inverseCap);
  //#endif
  $(SCORE)$j = select(lowest, $(SCORE)$j, seen$(OF)_$j);
  blockMax$OF = max(blockMax$OF, $(SCORE)$j);
  //#endfor
  var blockSum$OF = 0.0;
  //#for j 0 BLOCK
  let $(TERM)$j = select(0.0, exp2($(SCORE)$j - blockMax$OF), seen$(OF)_$j);
  blockSum$OF += $(TERM)$j;
  //#endfor
