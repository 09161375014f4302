import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { testDatabase } from '../database.ts'
import { type SentEvent, readEvents } from '../events.ts'
import { type Caller, caller, testServer } from '../server.ts'
import type { Broker } from './broker.ts'
import { type Child, startChild } from './children.ts'

/** The outcome. */
export interface Rounds {
  kills: number
  /** Changes that a server said it had made. */
  acknowledged: number
  /** The number of events that all subscribers together were told. */
  told: number
  /** The number of times that subscribers began again, mostly on the other server. */
  resumed: number
}

const UNLIMITED = { UK_LIMIT_WRITES: '0', UK_LIMIT_READS: '0', UK_LIMIT_IN_FLIGHT: '0' }
const WORKSPACES = 3
const WRITERS = 4

/**
 * Kills one of two server processes on one database at a random moment, again and again, while changes are made through
 * both, and starts it anew. Checks that each subscriber, who goes on at the other server from the last `id` it saw, is
 * told every change that was acknowledged, once, in one order that is the same for all.
 */
export async function killsUnderSubscribers({
  rounds,
  readers,
  bus = null,
}: {
  rounds: number
  readers: number
  /** The broker that the servers tell each other through, killed and started anew in each round. */
  bus?: Broker | null
}): Promise<Rounds> {
  const environment = { ...UNLIMITED, ...(bus && { UK_BUS: bus.url }) }
  await using database = await testDatabase()
  const alice = await signUp()
  async function signUp() {
    await using first = await testServer({ database })
    return await first.person('Alice')
  }
  const children: Child[] = await Promise.all([1, 2].map(() => startChild(database, environment)))
  await using _first = { [Symbol.asyncDispose]: () => children[0]!.kill() }
  await using _second = { [Symbol.asyncDispose]: () => children[1]!.kill() }
  const at = (i: number) => caller(children[i % 2]!.origin, alice.headers)
  const workspaces = await Promise.all(
    Array.from(
      { length: WORKSPACES },
      async () => (await at(0).post('/workspaces', { name: 'Team' })).body.data.id as string,
    ),
  )
  const channels = workspaces.map((id) => `workspace:${id}`)
  const made = new Set<string>()
  const loaded = new AbortController()
  const whole = new AbortController()
  let resumed = 0

  /** From the first change on, until it has heard of all that was made. */
  async function follow(i: number, ready: () => void): Promise<SentEvent[]> {
    const got: SentEvent[] = []
    const missing = new Set<string>()
    let last = ''
    for (let turn = i; ; turn++) {
      const headers: Record<string, string> = last === '' ? {} : { 'last-event-id': last }
      try {
        for await (const event of readEvents(at(turn), `/realtime/subscribe?channels=${channels.join()}`, {
          headers,
        })) {
          assert.notEqual(event.event, 'reset', JSON.stringify(event.data))
          if (event.id) last = event.id
          if (event.event === 'subscribed') ready()
          if (event.event !== 'change' || event.data.type !== 'agent.created') continue
          got.push(event)
          if (!whole.signal.aborted) continue
          for (const id of made) missing.add(id)
          for (const { data } of got) missing.delete(data.resource.id)
          if (missing.size === 0) return got
        }
      } catch (error) {
        if (error instanceof assert.AssertionError) throw error
      }
      resumed++
      await sleep(20)
    }
  }

  const readies = Array.from({ length: readers }, () => Promise.withResolvers<void>())
  const following = readies.map(({ resolve }, i) => follow(i, resolve))
  await Promise.race([Promise.all(readies.map(({ promise }) => promise)), Promise.all(following)])
  const writing = Promise.all(
    Array.from({ length: WRITERS }, (_, i) => writeUntil(loaded.signal, { first: i, at, workspaces, made })),
  )
  for (let round = 0; round < rounds; round++) {
    await sleep(100 + Math.random() * 900)
    const slot = round % 2
    await children[slot]!.kill()
    children[slot] = await startChild(database, environment)
    if (bus === null) continue
    await bus.stop()
    await sleep(Math.random() * 500)
    await bus.start()
  }
  loaded.abort()
  await writing
  // From here on no more is waited for; one more in each channel lets the readers look whether they have heard all.
  whole.abort()
  for (const workspace_id of workspaces) await at(0).post('/agents', { name: 'Last', workspace_id })

  const eventLists = await Promise.all(following)
  checkOrder(eventLists, channels)
  const told = eventLists.reduce((sum, events) => sum + events.length, 0)
  return { kills: rounds, acknowledged: made.size, told, resumed }
}

/** Each subscriber got each change once, in one order for all. */
function checkOrder(eventLists: readonly SentEvent[][], channels: readonly string[]): void {
  const order = new Map<string, string>()
  for (const events of eventLists) {
    for (const channel of channels) {
      const own = events.filter(({ data }) => data.channel === channel)
      const offsets = own.map(({ data }) => data.offset as number)
      assert.deepEqual(
        offsets,
        offsets.map((_, i) => offsets[0]! + i),
        'each once, in order',
      )
      for (const { data } of own) {
        const place = `${channel} ${data.epoch} ${data.offset}`
        assert.equal(order.get(place) ?? data.resource.id, data.resource.id, 'the same order for all')
        order.set(place, data.resource.id)
      }
    }
  }
  assert.equal(new Set(order.values()).size, order.size, 'no change has two places')
}

/** Creates agents until the signal, and adds the acknowledged ones to `made`. */
async function writeUntil(
  signal: AbortSignal,
  {
    first,
    at,
    workspaces,
    made,
  }: { first: number; at: (turn: number) => Caller; workspaces: readonly string[]; made: Set<string> },
): Promise<void> {
  for (let turn = first; !signal.aborted; turn++) {
    const workspace_id = workspaces[turn % WORKSPACES]
    const answer = await at(turn)
      .post('/agents', { name: 'Under load', workspace_id })
      .catch(() => null)
    // An unacknowledged write may have succeeded.
    if (answer?.status === 201) made.add(answer.body.data.id)
    else await sleep(20)
  }
}
