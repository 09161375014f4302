// A request of this story was sometimes answered by nobody for a minute, where others ran beside it: it is not known why.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pairedBy } from '#test/link/daemon.ts'
import { liarAt } from '#test/link/liar.ts'
import { twoServers } from '#test/two-servers.ts'

const { server, alice } = await twoServers()

test('the standard input of a command goes out once, from an offset that can be', async () => {
  const { id, credential } = await pairedBy(alice)
  for (const stdin of ['3', -1, 1.5, 1e300, 2 ** 53 - 1, { valueOf: 3 }]) {
    using _liar = await liarAt(server.origin, credential, ({ op }, says) => {
      if (op !== 'exec') return says.end({ error: { code: 'not_found' } })
      for (let i = 0; i < 3; i++) says.event({ type: 'started', pid: 1, stdin })
      for (let i = 0; i < 30; i++) says.credit(50_000)
      setTimeout(() => says.end({ error: { code: 'storage_full' } }), 20)
    })
    const ran = await alice.post(`/computers/${id}/exec`, { command: 'cat', stdin: 'x'.repeat(1_000_000) })
    assert.equal(ran.body.error.type, 'storage_full', ran.text)
  }
})
