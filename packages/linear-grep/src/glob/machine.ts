import type { Work } from '../bounded/work.ts'
import { SLASH, type Token } from './tokens.ts'

/**
 * Simulates a glob as a set of states, so each character costs up to the glob's length. One run also reports matching
 * parent folders.
 */
export interface Machine {
  /**
   * Runs over `path` from `from` to `to`. Calls `accept` at each `/` preceded by a match, and at the end, until it
   * returns true. Throws `TooMuchWork`.
   */
  run(path: Int32Array, from: number, to: number, work: Work, accept: (at: number) => boolean): boolean
}

export function machineOf(tokens: readonly Token[]): Machine {
  const last = tokens.length
  let here = new Int32Array(last + 1)
  let next = new Int32Array(last + 1)
  const stack = new Int32Array(tokens.reduce((sum, token) => sum + (token.on === 'split' ? token.to.length : 1), 2))
  /** The round in which a state was last opened, so nothing needs clearing between characters. */
  const openedAt = new Uint32Array(last + 1)
  let round = 0

  function open(set: Int32Array, count: number, first: number): number {
    let size = count
    let depth = 0
    stack[depth++] = first
    while (depth > 0) {
      const at = stack[--depth]!
      if (openedAt[at] === round) continue
      openedAt[at] = round
      const token = tokens[at]
      if (token?.on === 'split') for (const to of token.to) stack[depth++] = to
      else if (token?.on === 'go') stack[depth++] = token.to
      else {
        set[size++] = at
        if (token?.on === 'star' || token?.on === 'stars') stack[depth++] = at + 1
      }
    }
    return size
  }

  function start(): void {
    if (++round < 0xffff_ffff) return
    openedAt.fill(0)
    round = 1
  }

  return {
    run(path, from, to, work, accept) {
      start()
      let count = open(here, 0, 0)
      for (let i = from; i < to; i++) {
        const code = path[i]!
        const slash = code === SLASH
        if (slash && i > from && openedAt[last] === round && accept(i)) return true
        start()
        let size = 0
        let steps = 1
        for (let n = 0; n < count; n++) {
          const at = here[n]!
          const token = tokens[at]
          if (token === undefined) continue
          steps += token.on === 'set' ? token.ranges.length : 1
          if (token.on === 'stars' || (token.on === 'star' && !slash)) size = open(next, size, at)
          else if (holds(token, code, slash)) size = open(next, size, at + 1)
        }
        work.spend(steps + size)
        if (size === 0) return false
        ;[here, next] = [next, here]
        count = size
      }
      return openedAt[last] === round && accept(to)
    },
  }
}

function holds(token: Token, code: number, slash: boolean): boolean {
  if (token.on === 'char') return token.code === code
  if (token.on === 'any') return !slash
  if (token.on !== 'set' || slash) return false
  return token.ranges.some(([low, high]) => code >= low && code <= high) !== token.not
}
