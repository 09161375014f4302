export class Busy extends Error {
  override name = 'Busy'
}

export interface TurnLimits {
  atOnce: number
  each: number
  /** Waiting calls per account and in total. If full, the longest queue loses its last entry to a shorter one. */
  waitingEach: number
  waiting: number
}

/**
 * Shares a scarce resource between accounts in round-robin order, so one account's many calls can't block another's.
 */
export interface Turns extends Disposable {
  take(account: string, signal?: AbortSignal): Promise<Disposable>
}

interface Waiting {
  go: (turn: Disposable) => void
  leave: (error: Error) => void
}

export function createTurns(limits: TurnLimits): Turns {
  const lines = new Map<string, Waiting[]>()
  const countByAccount = new Map<string, number>()
  let [running, waiting] = [0, 0]
  let isClosed = false

  function turnOf(account: string): Disposable {
    running += 1
    countByAccount.set(account, (countByAccount.get(account) ?? 0) + 1)
    let over = false
    return {
      [Symbol.dispose]() {
        if (over) return
        over = true
        running -= 1
        const remaining = countByAccount.get(account)! - 1
        if (remaining === 0) countByAccount.delete(account)
        else countByAccount.set(account, remaining)
        next()
      },
    }
  }

  function next(): void {
    while (running < limits.atOnce) {
      const next = [...lines].find(([account]) => (countByAccount.get(account) ?? 0) < limits.each)
      if (next === undefined) return
      const [account, line] = next
      const { go } = line.shift()!
      waiting -= 1
      lines.delete(account)
      if (line.length > 0) lines.set(account, line)
      go(turnOf(account))
    }
  }

  /**
   * If full, the account with the longest queue loses its last call, provided this account's queue would be shorter.
   */
  function isRoom(length: number): boolean {
    if (waiting < limits.waiting) return true
    const longest = [...lines.values()].reduce((one, other) => (other.length > one.length ? other : one), [])
    if (longest.length <= length + 1) return false
    waiting -= 1
    longest.pop()!.leave(new Busy('Too many requests are already waiting.'))
    return true
  }

  return {
    take(account, signal) {
      signal?.throwIfAborted()
      const line = lines.get(account) ?? []
      if (isClosed || line.length >= limits.waitingEach || !isRoom(line.length))
        return Promise.reject(
          new Busy(isClosed ? 'The server is shutting down.' : 'Too many requests are already waiting.'),
        )
      return new Promise((resolve, reject) => {
        const onLeave = (): void => {
          const at = line.indexOf(one)
          if (at < 0) return
          line.splice(at, 1)
          waiting -= 1
          if (line.length === 0) lines.delete(account)
          reject(signal!.reason as Error)
        }
        const settle = <T>(say: (value: T) => void) => {
          return (value: T): void => {
            signal?.removeEventListener('abort', onLeave)
            say(value)
          }
        }
        const one: Waiting = { go: settle(resolve), leave: settle(reject) }
        signal?.addEventListener('abort', onLeave, { once: true })
        line.push(one)
        lines.set(account, line)
        waiting += 1
        next()
      })
    },
    [Symbol.dispose]() {
      isClosed = true
      for (const { leave } of [...lines.values()].flat()) leave(new Busy('The server is shutting down.'))
      lines.clear()
      waiting = 0
    },
  }
}
