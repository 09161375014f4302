import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { KeeperClient } from '#daemon/keeper/client.ts'
import { type RunParts, runDaemon } from '#daemon/run.ts'
import { writeState } from '#daemon/state.ts'
import { CAPABILITIES } from '#daemon-protocol/operations.ts'
import { roomForRun } from '../room.ts'
import type { Paired } from './daemon.ts'

/** A state folder for a daemon. Ends the keeper on disposal. */
export interface Home extends AsyncDisposable {
  folder: string
  keeper(): KeeperClient
}

export function daemonHome(): Home {
  const folder = mkdtempSync(join(roomForRun(), 'daemon-'))
  const clients: KeeperClient[] = []
  const keeper = (): KeeperClient => {
    const client = new KeeperClient({ folder: join(folder, 'keeper') })
    clients.push(client)
    return client
  }
  return {
    folder,
    keeper,
    async [Symbol.asyncDispose]() {
      const last = keeper()
      const { pid } = await last.hello()
      process.kill(pid, 'SIGTERM')
      await Promise.all(clients.map((client) => client.close()))
      rmSync(folder, { recursive: true, force: true, maxRetries: 10 })
    },
  }
}

export interface RunningDaemon extends AsyncDisposable {
  /** Messages printed for users. */
  messages: string[]
  /** Rejects with the fault that ended it. */
  done: Promise<unknown>
}

/** Runs the daemon of a paired machine in this process. */
export async function runDaemonAt(
  home: Home,
  url: string,
  { id, credential }: Paired,
  more: Partial<RunParts> = {},
): Promise<RunningDaemon> {
  await writeState(home.folder, {
    server_url: url,
    computer_id: id,
    name: 'Box',
    credential,
    previous: null,
    allows: [...CAPABILITIES],
    roots: ['/'],
    updates: null,
  })
  return continueDaemon(home, more)
}

/** Runs it with the existing state. */
export function continueDaemon(home: Home, more: Partial<RunParts> = {}): RunningDaemon {
  const stopping = new AbortController()
  const messages: string[] = []
  const done = runDaemon({
    folder: home.folder,
    version: '0.0.0',
    allows: null,
    roots: null,
    url: null,
    keeper: home.keeper(),
    say: (line) => messages.push(line),
    signal: stopping.signal,
    ...more,
  })
  done.catch(() => {})
  return {
    messages,
    done,
    async [Symbol.asyncDispose]() {
      stopping.abort()
      await done.catch(() => {})
    },
  }
}
