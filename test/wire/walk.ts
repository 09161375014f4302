import assert from 'node:assert/strict'
import { KeptConnection } from '#test/rfc9112/kept-connection.ts'
import { type Answer, NotAnAnswer } from '#test/rfc9112/read-answer.ts'
import { type Asked, bytesOf } from './asked.ts'

/** The counts of what a walk looked at. */
export interface Seen {
  answers: number
  connections: number
  statuses: Map<number, number>
}

export interface Way {
  origin: string
  /** Sent between any two requests: its answer must be the next thing on the wire, and name it. */
  probe: Asked
  /** Fields of every request. */
  fields?: Record<string, string>
  /** All at once, so many; else each after the answer before it. */
  together?: number
}

/**
 * Sends what is asked over as few connections as the answers allow, with a probe behind each, and reads every byte that
 * comes back: none may be left over, and none may be missing.
 */
export async function walk(asked: readonly Asked[], way: Way): Promise<Seen> {
  const seen: Seen = { answers: 0, connections: 0, statuses: new Map() }
  const size = way.together ?? 1
  let connection: KeptConnection | null = null
  for (let at = 0; at < asked.length; at += size) {
    if (connection === null) {
      connection = await KeptConnection.open(way.origin)
      seen.connections++
      // Decides who reads this connection.
      assert.ok(await exchange(connection, [], way, at, seen), 'the probe ends its connection')
    }
    if (!(await exchange(connection, asked.slice(at, at + size), way, at, seen))) connection = null
  }
  await connection?.[Symbol.asyncDispose]()
  return seen
}

/** Whether the connection goes on. */
async function exchange(
  connection: KeptConnection,
  asked: readonly Asked[],
  { probe, fields, together }: Way,
  at: number,
  seen: Seen,
): Promise<boolean> {
  const sent = [...asked.flatMap((one) => [one, probe]), ...(asked.length === 0 ? [probe] : [])]
  const name = (i: number) => `walk-${at}-${i}`
  if (together !== undefined) {
    for (const { before } of sent) before?.()
    connection.send(Buffer.concat(sent.map((one, i) => bytesOf(one, name(i), fields))))
  }
  for (const [i, one] of sent.entries()) {
    const words = `${one === probe ? 'the probe behind ' : ''}${told(sent[i - (one === probe && i > 0 ? 1 : 0)]!)}`
    if (together === undefined) {
      one.before?.()
      connection.send(bytesOf(one, name(i), fields))
    }
    try {
      const answer = await connection.answer(one.method)
      if (answer === null) throw new NotAnAnswer('the connection ends without an answer')
      check(answer, one, name(i), one === probe, together !== undefined)
      seen.answers++
      seen.statuses.set(answer.status, (seen.statuses.get(answer.status) ?? 0) + 1)
      if (!answer.closes) continue
      assert.equal((await connection.rest()).length, 0, 'bytes behind the last answer')
      return false
    } catch (error) {
      // An answer that broke off is seen to have broken off.
      if (one.breaks && error instanceof NotAnAnswer && /connection ends/.test(error.message)) return false
      throw new Error(`${words}: ${error instanceof Error ? error.message : String(error)}`, { cause: error })
    }
  }
  return true
}

const told = ({ method, target, headers, body = '' }: Asked): string =>
  `${method} ${target} ${JSON.stringify(headers)} ${String(body).slice(0, 200)}`

function check(answer: Answer, asked: Asked, name: string, isProbe: boolean, together: boolean): void {
  const field = (known: string) => answer.fields.find(([one]) => one === known)?.[1]
  const echo = field('x-client-request-id')
  // Each answer is that of its own request.
  if (isProbe || echo !== undefined) assert.equal(echo, name)
  assert.match(field('x-request-id') ?? '', /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/)
  if (asked.headers?.expect === '100-continue') assert.ok(answer.interim <= 1, `${answer.interim} interim answers`)
  else assert.equal(answer.interim, 0, 'an interim answer that nobody asked for')
  // One after the other they find what the one before left; all at once they may be done in another order.
  if (asked.status !== undefined && !together) assert.equal(answer.status, asked.status, answer.body.toString())
  assert.notEqual(answer.status, 500, answer.body.toString())
}
