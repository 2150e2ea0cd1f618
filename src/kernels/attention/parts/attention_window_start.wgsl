    // Where the walk over the segment's keys begins. With WINDOW in the block of the first key that the tile's first query
    // sees: what all queries leave out changes nothing.
    //#if WINDOW
    let firstSeen = segment.w + max(first, start) - start + 1u;
    let begin = (firstSeen - min(params.window, firstSeen)) / $(BLOCK)u * $(BLOCK)u;
    //#else
    let begin = 0u;
    //#endif
