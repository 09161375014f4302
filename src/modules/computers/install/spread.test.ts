import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { releaseAt } from '#test/computers/updating.ts'
import { hello, linkUp } from '#test/link/daemon.ts'
import { pairedComputer } from '#test/makers.ts'
import { testServer } from '#test/server.ts'
import { updateDelayMs } from './spread.ts'

const server = await testServer()
after(() => server[Symbol.asyncDispose]())
const alice = await server.person('Alice')

test('few machines update in the same second, and none waits longer than 15 minutes', () => {
  assert.equal(updateDelayMs(1, 0.99), 0)
  for (const machines of [2, 10, 100, 1_000, 100_000]) {
    const moments = Array.from({ length: machines }, (_, at) => updateDelayMs(machines, (at + 0.5) / machines))
    const inSecond = new Map<number, number>()
    for (const ms of moments) inSecond.set(Math.floor(ms / 1_000), (inSecond.get(Math.floor(ms / 1_000)) ?? 0) + 1)
    assert.ok(Math.max(...moments) < 900_000)
    assert.ok(Math.max(...inSecond.values()) <= Math.max(3, Math.ceil(machines / 900) + 1), `${machines}`)
  }
})

test('machines that reconnect together get different update times', async () => {
  // Nothing is offered until the program is bundled.
  await releaseAt(server.origin)
  const computers = await Promise.all(Array.from({ length: 12 }, () => pairedComputer(alice)))
  const words = { ...hello, release: 'a'.repeat(64) }
  for (const round of ['they come', 'they come back']) {
    using links = new DisposableStack()
    const waits = await Promise.all(
      computers.map(async ({ credential }) => {
        const linked = links.use(await linkUp(server.origin, credential, undefined, words))
        return (linked.greeting.update as { wait_ms: number }).wait_ms
      }),
    )
    assert.ok(
      waits.every((ms) => ms >= 0 && ms <= 6_000),
      waits.join(),
    )
    // The first machines know of few others.
    if (round === 'they come back') assert.ok(new Set(waits).size > 6, waits.join())
  }
})
