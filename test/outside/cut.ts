import { once } from 'node:events'
import { type Socket, connect, createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type pg from 'pg'

/** A write of a client that is about to become durable: one statement, or a transaction at its commit. */
export interface Write {
  /** Counted since the way was armed. */
  n: number
  /** The tables that it writes to, in its order: `runs+messages+outbox`. */
  to: string
}
/** Whether the client dies there: before the write can be durable, or when it is and the client does not know. */
export type Fate = 'pass' | 'before' | 'after'

/** A way to the database, over a port of its own, that is cut at a write. */
export interface Cut extends AsyncDisposable {
  /** The address that a client takes as its `DATABASE_URL`. */
  url: string
  /** From now on each write is asked about; `kill` ends the client for good, at once. */
  arm(fateOf: (write: Write) => Fate, kill: () => void): void
  /** Nothing gets through any more. */
  readonly isCut: boolean
}

/**
 * Reads what goes by as the frontend/backend protocol has it.
 * https://www.postgresql.org/docs/current/protocol-message-formats.html
 */
export async function cutTo(connection: pg.PoolConfig): Promise<Cut> {
  let fateOf: ((write: Write) => Fate) | null = null
  let kill = (): void => {}
  let n = 0
  let isCut = false
  const sockets = new Set<Socket>()

  const server = createServer((client) => {
    const database = connect(join(connection.host!, `.s.PGSQL.${connection.port}`))
    for (const socket of [client, database]) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        sockets.delete(socket)
        client.destroy()
        database.destroy()
      })
    }
    const statements = new Map<string, string>()
    let inTransaction = false
    let writes: string[] = []
    let request: string[] = []
    let held = false
    const asked = messages(false)
    const answered = messages(true)

    function cut(): void {
      isCut = true
      kill()
      for (const socket of sockets) socket.destroy()
    }

    client.on('data', (bytes) => {
      if (isCut) return
      for (const { type, body } of asked(bytes)) {
        if (type === 'P') {
          const [name, text] = strings(body)
          statements.set(name!, text!)
        } else if (type === 'B') request.push(statements.get(strings(body)[1]!) ?? '')
        else if (type === 'Q') request.push(strings(body)[0]!)
        if (type !== 'Q' && type !== 'S') continue
        const texts = request
        request = []
        writes.push(...texts.flatMap(writesOf))
        const ends = inTransaction ? texts.some((text) => /^\s*commit\b/i.test(text)) : !texts.some(begins)
        if (!ends || fateOf === null || writes.length === 0) continue
        const fate = fateOf({ n: ++n, to: [...new Set(writes)].join('+') })
        if (fate === 'before') return cut()
        held = fate === 'after'
      }
      database.write(bytes)
    })
    database.on('data', (bytes) => {
      if (isCut) return
      for (const { type, body } of answered(bytes)) {
        if (type !== 'Z') continue
        inTransaction = body[0] !== IDLE
        if (!inTransaction) writes = []
        if (held) return cut()
      }
      if (!held) client.write(bytes)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = new URL(`postgresql://127.0.0.1:${(server.address() as AddressInfo).port}/${connection.database}`)
  url.username = String(connection.user)
  url.password = String(connection.password)
  return {
    url: url.href,
    arm(asks, kills) {
      fateOf = asks
      kill = kills
    },
    get isCut() {
      return isCut
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

const IDLE = 'I'.charCodeAt(0)
const begins = (text: string): boolean => /^\s*(begin|start transaction)\b/i.test(text)

/** The tables that a run and what pays for it are written to; what a process does for itself is left out. */
const TABLES =
  'runs|run_events|messages|steps|goals|chats|resources|outbox|reservations|ledger|calls|spends|balances|changes|deliveries|operations'
const WRITE = new RegExp(`\\b(?:insert into|update|delete from)\\s+"?(${TABLES})"?\\b`, 'gi')
const CALL =
  /\b((?:reserve|settle|release|mark|reconcile)_calls?|settle_batch|graphile_worker\.add_jobs?|complete_jobs?)\b/gi
const writesOf = (text: string): string[] =>
  [WRITE, CALL].flatMap((words) => [...text.matchAll(words)].map((match) => match[1]!.toLowerCase()))

/** Splits bytes into messages. What a client says first has no type. */
function messages(typed: boolean): (bytes: Buffer) => { type: string; body: Buffer }[] {
  let rest: Buffer = Buffer.alloc(0)
  let hasType = typed
  return (bytes) => {
    rest = rest.length === 0 ? bytes : Buffer.concat([rest, bytes])
    const found: { type: string; body: Buffer }[] = []
    for (;;) {
      const head = hasType ? 1 : 0
      if (rest.length < head + 4) return found
      const end = head + rest.readInt32BE(head)
      if (rest.length < end) return found
      found.push({ type: hasType ? String.fromCharCode(rest[0]!) : '', body: rest.subarray(head + 4, end) })
      rest = rest.subarray(end)
      hasType = true
    }
  }
}

const strings = (body: Buffer): string[] => body.toString('latin1').split('\0')
