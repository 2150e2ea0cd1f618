  // How many keys of the block from `block` on lie before the query's window.
  //#if WINDOW
  let skipped = firstKey - min(block, firstKey);
  //#endif
