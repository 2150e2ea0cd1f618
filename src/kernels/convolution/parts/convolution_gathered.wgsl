  // d: the gradients of the sums that a token's input went into, times their weights.
  let own = segments[token];
  let end = min(own.y, params.tokens);
  var d = vec4<f32>(0.0);
  var ahead = 0u;
  while (ahead < $(TAPS)u && token + ahead < end) {
    if (segments[token + ahead].x != own.x) { break; }
    d = fma(weight($(TAPS-1)u - ahead, channels), load_dSums((token + ahead) * vectors + channels), d);
    ahead++;
  }
  if (ahead < $(TAPS)u) {
    for (var first = token + ahead; first < end;) {
      let past = min(max(segments[first].y, first + 1u), end);
      for (var i = ahead; i < $(TAPS)u; i++) {
        let row = first + i - ahead;
        if (row < past) {
          d = fma(weight($(TAPS-1)u - i, channels), load_dSums(row * vectors + channels), d);
        }
      }
      first = past;
    }
  }
