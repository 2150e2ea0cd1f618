  // Which token is this lane's, of a workgroup of neighbours, and how many vectors a head has.
  //#if UNROLL
  let chunks = $(D/4)u;
  //#else
  let chunks = params.chunks;
  //#endif
  let first = group.x * $(LANES)u;
  let last = min(first + $(LANES)u, params.tokens) - 1u;
  let token = first + lane;
