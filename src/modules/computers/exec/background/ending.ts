import { createRounds } from '#infra/bus/rounds.ts'
import type { Engine } from '#infra/context.ts'
import { LinkLost } from '#packages/mux/stream.ts'
import { Refusal } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import type { HasLinks } from '../../link/links.ts'
import { type UnwantedCommand, runningCommands } from './running-commands.ts'

const LOOK_MS = 2_000
const KILL_MS = 30_000

export function endUnwantedCommands(engine: Engine<HasLinks>): AsyncDisposable {
  const { links, log, postgres } = engine
  const busy = new Map<Id, Promise<void>>()
  const stopping = new AbortController()

  async function end({ operation_id: key, computer_id: computerId, settled }: UnwantedCommand): Promise<void> {
    const signal = AbortSignal.any([stopping.signal, AbortSignal.timeout(KILL_MS)])
    try {
      // The computer knows every process of the command. If it finds none, the command has ended.
      const { found } = await links.ask(computerId, 'exec.kill', { key, signal: null }, { signal })
      if (found || settled) await runningCommands.forget(postgres.db, key)
    } catch (error) {
      // Keep the row until the computer confirms.
      if (!stopping.signal.aborted && !(error instanceof Refusal || error instanceof LinkLost))
        log.warn({ error, computer_id: computerId }, 'a canceled command was not terminated')
    }
  }

  const rounds = createRounds(
    {},
    async () => {
      const linkedIds = links.held()
      if (linkedIds.length === 0) return
      for (const one of await runningCommands.unwanted(postgres.db, linkedIds)) {
        const { operation_id: key } = one
        if (!busy.has(key))
          busy.set(
            key,
            end(one).finally(() => busy.delete(key)),
          )
      }
    },
    (error) => log.warn({ error }, 'canceled commands could not be checked'),
  )
  const timer = setInterval(rounds.poll, LOOK_MS)
  return {
    async [Symbol.asyncDispose]() {
      clearInterval(timer)
      stopping.abort()
      await rounds[Symbol.asyncDispose]()
      await Promise.all(busy.values())
    },
  }
}
