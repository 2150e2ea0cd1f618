  // Which query heads of one key/value head are this lane's, and where the rows of the head's keys and values are: every
  // `stride` vectors one, from `kvAt` on. The last lanes may have the last head several times.
  let headsOfKey = params.heads / params.kvHeads;
  let member = group.z * $(HEADS)u;
  let stride = params.kvHeads * chunks;
  let kvAt = group.y * chunks;
  //#for h 0 HEADS
  let query$h = min(token, last) * params.heads + group.y * headsOfKey + min(member + $(h)u, headsOfKey - 1u);
  let at$h = query$h * chunks;
  //#endfor
