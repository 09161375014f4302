import assert from 'node:assert/strict'
import { mock, test } from 'node:test'
import { Unreachable } from '../../server/send.ts'
import { pipeTo } from './stdin.ts'
import type { Target } from './target.ts'

test('a slow reader gets all of its stdin despite a short server outage', async () => {
  let minutes = 0
  const clock = mock.method(performance, 'now', () => minutes * 60_000)
  const said: [offset: number, bytes: number, end: boolean][] = []
  const answers = [2, 4, null, 6, 6]
  const call = async (_: unknown, { offset, data_base64 = '', end }: Record<string, any>) => {
    const taken = answers[said.length]
    said.push([offset, Buffer.from(data_base64, 'base64').length, end])
    minutes += 0.5
    if (taken === null) throw new Unreachable('http://server', new Error('away'))
    return { text: async () => JSON.stringify({ data: { offset: taken, running: true } }) }
  }
  async function* source(): AsyncGenerator<Buffer> {
    yield Buffer.from('sixsix')
  }
  try {
    const target = { id: 'x', name: 'box', call } as unknown as Target
    await pipeTo(target, 'exec', source(), new AbortController().signal)
  } finally {
    clock.mock.restore()
  }
  assert.deepEqual(said, [
    [0, 6, false],
    [2, 4, false],
    [4, 2, false],
    [4, 2, false],
    [6, 0, true],
  ])
})
