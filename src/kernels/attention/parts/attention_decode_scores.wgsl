      // Adds to the scores of each lane's keys what vector $CHUNK of the head makes with the queries' x0, x1, …
      //#for g 0 BLOCK/LANES
      let k$g = load_cacheKeys(row$g + $CHUNK);
      //#for h 0 HEADS
      //#for n 0 4
      s$(h)_$(g) = fma(x$h[$n], k$g[$n], s$(h)_$(g));
      //#endfor
      //#endfor
      //#endfor
