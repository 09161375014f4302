import { availableParallelism } from 'node:os'
import { type TurnLimits, createTurns } from './turns.ts'
import { type Outcome, Worker, type WorkerLimits } from './worker.ts'

export interface Pool<Request, Answer> extends AsyncDisposable {
  /**
   * Loads the request when its turn comes. The signal cancels waiting; started work finishes. The turn ends after
   * `conclude`. Throws `Busy` or the loading error.
   */
  ask(
    account: string,
    load: () => Request | Promise<Request>,
    signal?: AbortSignal,
    conclude?: (outcome: Outcome<Answer>) => Promise<void>,
  ): Promise<Outcome<Answer>>
}

export interface PoolLimits extends WorkerLimits, TurnLimits {
  idleMs: number
}

/** An account uses up to two processes, so a third is free for others. */
export const TURNS: TurnLimits & { idleMs: number } = {
  atOnce: Math.max(3, Math.min(4, availableParallelism() - 1)),
  each: 2,
  waitingEach: 30,
  waiting: 1_000,
  idleMs: 30_000,
}
/** Restarts a process after this many requests, to bound library leaks. */
const MAX_ANSWERED = 500

export function createPool<Request, Answer>(
  program: string,
  limits: PoolLimits,
  rights: readonly string[] = [],
): Pool<Request, Answer> {
  const turns = createTurns(limits)
  const idle: Worker<Request, Answer>[] = []
  const alive = new Set<Worker<Request, Answer>>()
  let isClosed = false

  async function work(
    turn: Disposable,
    load: () => Request | Promise<Request>,
    conclude: (outcome: Outcome<Answer>) => Promise<void> = async () => {},
  ): Promise<Outcome<Answer>> {
    using _turn = turn
    const request = await load()
    if (isClosed) return { lost: 'unsent' }
    const worker = idle.pop() ?? start()
    clearTimeout(worker.idle)
    const outcome = await worker.ask(request)
    if (worker.gone || worker.answered >= MAX_ANSWERED || isClosed) drop(worker)
    else {
      idle.push(worker)
      worker.idle = setTimeout(() => drop(worker), limits.idleMs).unref()
    }
    await conclude(outcome)
    return outcome
  }

  function start(): Worker<Request, Answer> {
    const worker = new Worker<Request, Answer>(program, limits, rights)
    alive.add(worker)
    return worker
  }

  function drop(worker: Worker<Request, Answer>): void {
    clearTimeout(worker.idle)
    alive.delete(worker)
    const at = idle.indexOf(worker)
    if (at >= 0) idle.splice(at, 1)
    worker.end()
  }

  return {
    async ask(account, load, signal, conclude) {
      const turn = await turns.take(account, signal)
      return work(turn, load, conclude)
    },
    async [Symbol.asyncDispose]() {
      isClosed = true
      turns[Symbol.dispose]()
      const ends = [...alive].map((worker) => worker.ended)
      for (const worker of alive) drop(worker)
      await Promise.all(ends)
    },
  }
}
