  // Where the rows of a query head's keys and values are: every `stride` vectors of CHUNKS a head, from `kvAt` on.
  let head = group.y;
  let stride = params.kvHeads * $CHUNKS;
  let kvAt = head / (params.heads / params.kvHeads) * $CHUNKS;
