import { endTree, type Trace, treeOf } from './tree.ts'

/**
 * Ends what commands left behind that nothing gave away at once: what called `setsid` and closed its pipes. One look at all
 * processes serves all the commands that ended within a moment.
 */
export class Sweep {
  #traces: Trace[] = []
  #timer: NodeJS.Timeout | null = null

  add(trace: Trace): void {
    this.#traces.push(trace)
    this.#timer ??= setTimeout(() => this.now(), MOMENT_MS)
  }

  now(): void {
    if (this.#timer) clearTimeout(this.#timer)
    this.#timer = null
    const traces = this.#traces
    this.#traces = []
    if (traces.length > 0 && treeOf(traces).length > 0) for (const trace of traces) void endTree(trace)
  }
}

const MOMENT_MS = 100
