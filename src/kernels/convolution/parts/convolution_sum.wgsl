  // The earliest input first, each added to what is there: the order in which all forms of the convolution add.
  var sum = vec4<f32>(0.0);
  for (var tap = 0u; tap < $(TAPS)u; tap++) {
    let back = $(TAPS-1)u - tap;
    if (back <= position) {
      let row = rowOfKey(own, own.x, position - back);
      sum = fma(weight(tap, channels), load_inputs(row * vectors + channels), sum);
    }
  }
