  // A lane's column of a head's state, of the walk that its workgroup has.
  let index = group.y * groups.x + group.x;
  let column = index % params.blocks * $(LANES)u + lane;
  let head = index / params.blocks % params.valueHeads;
  let place = index / params.blocks / params.valueHeads;
  if (place >= params.walks || column >= $(DV)u) { return; }
  let walk = walks[params.firstWalk + place];
  let width = params.valueHeads * $(DV)u;
  let own = head * $(DV)u + column;
  let keyHead = head / (params.valueHeads / params.keyHeads);
  let row0 = params.keyHeads * $(DK/2)u + params.valueHeads * $(DV/4)u;
