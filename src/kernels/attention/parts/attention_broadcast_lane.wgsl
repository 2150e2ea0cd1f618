  // Which token is this lane's, the first of them, of TOKENS neighbours of a workgroup, and how many vectors a head has.
  //#if UNROLL
  let chunks = $(D/4)u;
  //#else
  let chunks = params.chunks;
  //#endif
  let first = group.x * $(TOKENS)u;
  let last = min(first + $(TOKENS)u, params.tokens) - 1u;
  let token = first + lane;
