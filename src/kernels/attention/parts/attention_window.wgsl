  // The first key that the query at `position` sees.
  //#if WINDOW
  let firstKey = position + 1u - min(params.window, position + 1u);
  //#endif
