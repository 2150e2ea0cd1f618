  // Four channels of a token.
  let index = (group.y * groups.x + group.x) * 64u + lane;
  let vectors = params.vectors;
  let token = index / vectors;
  if (token >= params.tokens) { return; }
  let channels = index % vectors;
