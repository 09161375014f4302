import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

const LOOK_MS = 1_000
const IDLE = 0.1

/**
 * Frees memory needed only at startup, a quarter of the process, in the first idle second. V8 sizes its young
 * generation by what survives loading, 32 MB, and would keep that; under load it grows again.
 */
export function forgetStart(): void {
  let before = performance.eventLoopUtilization()
  const timer = setInterval(() => {
    const now = performance.eventLoopUtilization()
    const { utilization } = performance.eventLoopUtilization(now, before)
    before = now
    if (utilization > IDLE) return
    clearInterval(timer)
    setFlagsFromString('--expose-gc')
    const collect = runInNewContext('gc') as NodeJS.GCFunction
    collect({ type: 'major', execution: 'sync', flavor: 'last-resort' })
  }, LOOK_MS).unref()
}
