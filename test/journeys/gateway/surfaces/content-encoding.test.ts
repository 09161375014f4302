import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type World, gatewayWorld } from '../world.ts'
import { surfaces } from '../wire/surfaces.ts'

let world: World

before(async () => {
  world = await gatewayWorld()
})
after(() => world[Symbol.asyncDispose]())

test('every surface accepts `identity` in any case and names it when it refuses another encoding', async () => {
  for (const surface of surfaces) {
    const send = (coding: string) =>
      world.key.post(surface.path, surface.ask('sim/echo', 'Hello'), { 'content-encoding': coding })
    for (const coding of ['identity', 'Identity', 'IDENTITY', ' identity ', 'identity, identity', ''])
      assert.equal((await send(coding)).status, 200, `${surface.name} ${coding}`)
    for (const coding of ['gzip', 'br', 'zstd', 'identity, gzip', 'identityx', 'x'.repeat(2_000)]) {
      const { status, headers, text } = await send(coding)
      assert.deepEqual([status, headers.get('accept-encoding')], [415, 'identity'], `${surface.name} ${coding}`)
      assert.match(text, /only `identity` is accepted/)
      assert.ok(text.length < 1_000, text)
    }
  }
})
