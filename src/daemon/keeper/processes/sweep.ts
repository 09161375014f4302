import { endTree, type Trace, treeOf } from './tree.ts'

/**
 * Kills leftovers that can't be found immediately: processes that called `setsid` and closed their pipes. One scan
 * serves all commands that ended within a moment.
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
