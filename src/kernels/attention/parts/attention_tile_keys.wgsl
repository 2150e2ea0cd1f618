      // The walked rows are the segment's keys from `tile` on.
      if (lane < $(WALK)u) { walked[lane] = rowOfKey(segment, start, min(tile + lane, lastKey)) * stride + kvAt; }
